import { rankMatches } from '../lib/format/fuzzy'
import { encode } from '../lib/format/uri'
import type { Binding } from '../lib/keys/shortcuts'
import { summaryLine, shortSession } from '../lib/stream/eventView'
import { shortcutLines } from '../lib/keys/shortcutList'
import { requestTitle, type Lists, type Request } from '../lib/stream/requests'
import type { Event, Person } from '../lib/api/types'
import { roleNames } from '../lib/format/roles'
import { settingsTabs } from '../lib/page/router.svelte'
import { settingsLinks, type TabLink } from './tabs'
import { showSetting } from '../lib/ui/showSetting'
import { lazyAppText } from './lazyText'

const copy = lazyAppText.palette
const { groups } = copy
export type PaletteGroup = (typeof groups)[keyof typeof groups]

/** An entry of the command palette. */
export interface PaletteItem {
  group: PaletteGroup
  text: string
  /** Shown next to the text; also searched. */
  hint?: string
  /** Other words for it, searched but not shown. */
  synonyms?: string
  /** Its keys, in the notation of bindings. */
  keys?: string
  run: () => void
}

/** The text that a query is compared with. */
const searchText = ({ text, hint = '', synonyms = '', group }: PaletteItem): string =>
  `${text} ${hint} ${synonyms} ${group}`

const items = new Set<PaletteGroup>([
  groups.requests,
  groups.events,
  groups.agents,
  groups.sessions,
  groups.people,
])
const isItem = ({ group }: PaletteItem) => items.has(group)

/** The entries that a query finds: screens and actions, then requests, agents, sessions and people. */
export function findItems(all: readonly PaletteItem[], query: string): PaletteItem[] {
  const acts = new Set<PaletteGroup>([groups.actions, groups.here, groups.settings])
  const found = rankMatches(all, query, searchText, ({ group }) => acts.has(group))
  return [...found.filter((item) => !isItem(item)), ...found.filter(isItem)]
}

/** The last entries of every search. */
export const searchItems = (query: string, go: (path: string) => void): PaletteItem[] =>
  (
    [
      [copy.searchSessions, '/sessions'],
      [copy.searchDocs, '/docs/search'],
    ] as const
  ).map(([text, path]) => ({
    group: groups.search,
    text: text(query.trim()),
    run: () => go(`${path}?q=${encode(query.trim())}`),
  }))

/** The tabs of a screen. */
export function tabItems(
  tabs: readonly TabLink[],
  screen: string,
  go: (path: string) => void,
): PaletteItem[] {
  return tabs.map(({ path, name }) => ({
    group: groups.goTo,
    text: name,
    hint: screen,
    run: () => go(path),
  }))
}

/** Every setting, by its label on its tab. */
export function settingItems(go: (path: string) => void): PaletteItem[] {
  return settingsLinks.flatMap(({ path, name }, i) =>
    Object.entries(copy.settings[settingsTabs[i] ?? 'agents']).map(([text, synonyms]) => ({
      group: groups.settings,
      text,
      hint: name,
      synonyms,
      run: () => {
        go(path)
        showSetting(text)
      },
    })),
  )
}

/** The people of the hub, who are listed in one place. */
export function personItems(people: readonly Person[], go: (path: string) => void): PaletteItem[] {
  return people.map(({ name, role }) => ({
    group: groups.people,
    text: name,
    hint: roleNames[role] ?? role,
    run: () => go('/team/people'),
  }))
}

const short = (text: string) => text.split('\n')[0]?.slice(0, 160) ?? ''

/** The waiting requests and the undelivered answers. */
export function requestItems(lists: Lists, go: (path: string) => void): PaletteItem[] {
  const item = (r: Request, hint: string): PaletteItem => ({
    group: groups.requests,
    text: short(requestTitle(r)) || copy.request(r.id),
    hint,
    run: () => go(`/inbox/${r.id}`),
  })
  return [
    ...lists.undelivered.map((r) => item(r, copy.undelivered(r.event.source_app))),
    ...lists.needs.map((r) => item(r, copy.requestHint(r.event.source_app, r.id))),
  ]
}

const SESSIONS = 12
const SESSIONS_LOOKED_AT = 3000

/** The latest sessions, newest first. */
export function sessionItems(
  events: { newest(): Iterable<{ event: Event }> },
  open: (app: string, session: string) => void,
): PaletteItem[] {
  const items = new Map<string, PaletteItem>()
  let looked = 0
  for (const { event: e } of events.newest()) {
    if (items.size >= SESSIONS || looked++ >= SESSIONS_LOOKED_AT) break
    const key = JSON.stringify([e.source_app, e.session_id])
    if (items.has(key)) continue
    items.set(key, {
      group: groups.sessions,
      text: `${e.source_app} ${shortSession(e.session_id)}`,
      hint: short(summaryLine(e)),
      run: () => open(e.source_app, e.session_id),
    })
  }
  return [...items.values()]
}

/** The event and the request of a number such as "#123" or "123". */
export function eventItems(query: string, go: (path: string) => void): PaletteItem[] {
  const id = /^\s*#?(\d{1,15})\s*$/.exec(query)?.[1]
  if (!id) return []
  return [
    {
      group: groups.events,
      text: copy.eventById(id),
      hint: copy.inStream,
      run: () => go(`/stream?event=${id}`),
    },
    { group: groups.events, text: copy.requestById(id), hint: copy.inInbox, run: () => go(`/inbox/${id}`) },
  ]
}

/**
 * The shortcuts of the current screen. Deciding shortcuts are left out, because a
 * decision is made where the request is visible.
 */
export function shortcutItems(bindings: readonly Binding[]): PaletteItem[] {
  const free = bindings.filter((b) => !b.decides && !b.inFields)
  return shortcutLines(free)
    .filter((line) => line.where !== 'Everywhere' && !/^[\d…\s]+$/.test(line.keys))
    .map(({ keys, description: does }) => ({
      group: groups.here,
      text: does,
      keys,
      run: () => free.find((b) => b.keys === keys)?.run(),
    }))
}
