import type { Binding } from './shortcuts'
import { summaryLine, shortSession } from './eventView'
import { shortcutLines } from './shortcutList'
import type { Lists, Request } from './requests'
import type { Event } from './types'

export type PaletteGroup = 'Requests' | 'Here' | 'Go to' | 'Events' | 'Agents' | 'Sessions' | 'Actions'

/** Something the palette can do. */
export interface PaletteItem {
  group: PaletteGroup
  text: string
  /** Said beside it; looked through too. */
  hint?: string
  /** Its keys, in tinykeys' notation. */
  keys?: string
  run: () => void
}

const short = (text: string) => text.split('\n')[0]?.slice(0, 160) ?? ''

/** The requests that wait for a person, and the answers that did not arrive. */
export function requestItems(lists: Lists, go: (path: string) => void): PaletteItem[] {
  const item = (r: Request, hint: string): PaletteItem => ({
    group: 'Requests',
    text: short(r.question.question) || `Request ${r.id}`,
    hint,
    run: () => go(`/inbox/${r.id}`),
  })
  return [
    ...lists.undelivered.map((r) => item(r, `${r.event.source_app} · not delivered`)),
    ...lists.needs.map((r) => item(r, `${r.event.source_app} · #${r.id}`)),
  ]
}

const SESSIONS = 12
const SESSIONS_LOOKED_AT = 3000

/** The sessions last heard of, the newest first. events: newest first. */
export function sessionItems(events: Iterable<Event>, open: (app: string, session: string) => void): PaletteItem[] {
  const items = new Map<string, PaletteItem>()
  let looked = 0
  for (const e of events) {
    if (items.size >= SESSIONS || looked++ >= SESSIONS_LOOKED_AT) break
    const key = JSON.stringify([e.source_app, e.session_id])
    if (items.has(key)) continue
    items.set(key, {
      group: 'Sessions',
      text: `${e.source_app} ${shortSession(e.session_id)}`,
      hint: short(summaryLine(e)),
      run: () => open(e.source_app, e.session_id),
    })
  }
  return [...items.values()]
}

/** The event a person names by its number, "#123" or "123". */
export function eventItems(query: string, go: (path: string) => void): PaletteItem[] {
  const id = /^\s*#?(\d{1,15})\s*$/.exec(query)?.[1]
  if (!id) return []
  return [
    { group: 'Events', text: `Event #${id}`, hint: 'in the stream', run: () => go(`/stream?event=${id}`) },
    { group: 'Events', text: `Request #${id}`, hint: 'in the inbox', run: () => go(`/inbox/${id}`) },
  ]
}

/**
 * What the screen's own keys do. Those that decide are left out: a decision is
 * taken where the request is in sight.
 */
export function shortcutItems(bindings: readonly Binding[]): PaletteItem[] {
  const free = bindings.filter((b) => !b.decides && !b.inFields)
  return shortcutLines(free)
    .filter((line) => line.where !== 'Everywhere' && !/^[\d…\s]+$/.test(line.keys))
    .map(({ keys, description: does }) => ({
      group: 'Here',
      text: does,
      keys,
      run: () => free.find((b) => b.keys === keys)?.run(),
    }))
}
