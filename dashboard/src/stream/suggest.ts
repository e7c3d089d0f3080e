import { fields } from '../filter'
import type { FilterOptions } from '../types'

/** Something to put into the filter in the place of what is being typed. */
export interface Suggestion {
  /** The whole term, as it would be typed. */
  term: string
  /** What it is, in a few words. */
  about: string
}

/** What could stand where the caret is: the term goes in the place of text[from..to]. */
export interface Suggestions {
  from: number
  to: number
  items: Suggestion[]
}

const keyDescriptions: [key: string, about: string][] = [
  ['agent', 'who sent it'],
  ['type', 'PreToolUse, Stop …'],
  ['tool', 'Bash, Edit …'],
  ['session', 'one session'],
  ['status', 'of a request'],
  ['risk', 'of a request'],
  ['kind', 'of a request'],
  ['outcome', 'how a request ended'],
  ['delivery', 'whether the agent has the answer'],
  ['model', 'which model'],
  ['error', 'what went wrong'],
  ['id', 'one event'],
]

const fixed: Record<string, string[]> = {
  status: ['pending', 'responded', 'timeout', 'error'],
  kind: ['permission', 'question', 'choice'],
  risk: ['low', 'medium', 'high', 'critical'],
  outcome: ['approve', 'deny', 'answered', '__timeout__', '__no_quorum__', '__cancelled__', '__withdrawn__'],
  delivery: ['acked', 'pulled', 'delivered', 'queued', 'unconfirmed', 'refused', 'unreachable', 'too_late'],
  error: ['*'],
}

const lists: Record<string, keyof FilterOptions> = {
  agent: 'source_apps',
  app: 'source_apps',
  session: 'session_ids',
  type: 'hook_event_types',
  tool: 'tool_names',
}

const MOST = 8

/** The values that are known for a key. */
export function valuesFor(key: string, known: FilterOptions | undefined): string[] {
  const list = lists[key]
  return list ? (known?.[list] ?? []) : (fixed[key] ?? [])
}

/** A value as it is written in a filter. */
export const quoted = (value: string): string =>
  /[\s"]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value

/** What fits at the caret: keys and values at the begin of a term, values behind its colon. */
export function suggest(text: string, caret: number, known: FilterOptions | undefined): Suggestions {
  const [from, to] = termAt(text, caret)
  const term = text.slice(from, caret)
  const minus = term.startsWith('-') ? '-' : ''
  const rest = term.slice(minus.length)
  const colon = rest.indexOf(':')
  const items = colon < 0 ? keySuggestions(rest, minus, known) : values(rest, colon, minus, known)
  const whole = text.slice(from, to)
  return { from, to, items: items.filter((i) => i.term !== whole).slice(0, MOST) }
}

/** Where the term around the caret begins and ends: blanks within quotes are part of it. */
function termAt(text: string, caret: number): [from: number, to: number] {
  let from = 0
  let inQuotes = false
  for (let i = 0; i < caret; i++) {
    if (text[i] === '"') inQuotes = !inQuotes
    else if (!inQuotes && /\s/.test(text[i] ?? '')) from = i + 1
  }
  let to = caret
  while (to < text.length && (inQuotes ? text[to] !== '"' : !/\s/.test(text[to] ?? ''))) to++
  return [from, inQuotes && text[to] === '"' ? to + 1 : to]
}

function keySuggestions(start: string, minus: string, known: FilterOptions | undefined): Suggestion[] {
  const wanted = start.toLowerCase()
  const keys = keyDescriptions
    .filter(([key]) => key.startsWith(wanted))
    .map(([key, about]) => ({ term: `${minus}${key}:`, about }))
  if (!wanted) return keys
  const named = ['agent', 'type', 'tool'].flatMap((key) =>
    valuesFor(key, known)
      .filter((v) => v.toLowerCase().includes(wanted))
      .map((v) => ({ term: `${minus}${key}:${quoted(v)}`, about: '' })),
  )
  return [...keys, ...named]
}

function values(rest: string, colon: number, minus: string, known: FilterOptions | undefined): Suggestion[] {
  const key = rest.slice(0, colon)
  const wanted = rest
    .slice(colon + 1)
    .replace(/^"/, '')
    .toLowerCase()
  const all = valuesFor(key.toLowerCase(), known).filter((v) => v.toLowerCase().includes(wanted))
  const begins = (v: string) => v.toLowerCase().startsWith(wanted)
  const sorted = [...all.filter(begins), ...all.filter((v) => !begins(v))]
  return sorted.map((v) => ({ term: `${minus}${key}:${quoted(v)}`, about: '' }))
}

/**
 * The text as far as it can be meant: without a term at its end that is only begun,
 * such as "agent:". Nothing would fit that, and it is about to change.
 */
export function withoutUnfinishedTerm(text: string): string {
  const [, key] = /(?:^|\s)-?(\w*):$/.exec(text) ?? []
  const begun = key !== undefined && Object.hasOwn(fields, key.toLowerCase())
  return begun || /(?:^|\s)-$/.test(text) ? text.replace(/\S+$/, '').trimEnd() : text
}

/** What may be a mistake in a filter, in words; it is no error, so the filter holds. */
export function filterHint(text: string): string | undefined {
  if ((text.match(/"/g)?.length ?? 0) % 2 === 1)
    return 'The quote is not closed: all that follows it counts as one phrase.'
  for (const [, key, value] of text.replaceAll(/"[^"]*"/g, '""').matchAll(/(?:^|\s)-?([a-z]+):(\S*)/gi)) {
    const name = key?.toLowerCase() ?? ''
    if (Object.hasOwn(fields, name)) {
      const known = fixed[name]
      const plain = value && /^\w+$/.test(value) ? value.toLowerCase() : undefined
      if (known && name !== 'error' && plain && name !== 'outcome' && !known.some((v) => v.startsWith(plain)))
        return `No ${name} is called “${value}”. There are ${known.join(', ')}.`
      continue
    }
    const near = keyDescriptions.find(([k]) => distance(k, name) === 1)?.[0]
    if (near && name !== 'app') return `“${key}:” looks into the payload. Did you mean “${near}:”?`
  }
  return undefined
}

/** How many letters must be changed, added, taken away or swapped with their neighbour; 2 for many. */
function distance(a: string, b: string): number {
  if (a === b) return 0
  if (Math.abs(a.length - b.length) > 1) return 2
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  const [restA, restB] = [a.slice(i), b.slice(i)]
  if (restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1)) return 1
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2) ? 1 : 2
}
