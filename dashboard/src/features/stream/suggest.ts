import type { FilterOptions } from '../../lib/api/types'
import { streamText } from './text'

const copy = streamText.filter

/** A replacement for the term that is being typed. */
export interface Suggestion {
  /** The complete term. */
  term: string
  /** A short description. */
  about: string
}

/** The suggestions at the caret; a chosen term replaces text[from..to]. */
export interface Suggestions {
  from: number
  to: number
  items: Suggestion[]
}

const keyDescriptions: [key: string, about: string][] = [
  ['agent', copy.keys.agent],
  ['type', copy.keys.type],
  ['tool', copy.keys.tool],
  ['session', copy.keys.session],
  ['status', copy.keys.request],
  ['risk', copy.keys.request],
  ['decided', copy.keys.decided],
  ['kind', copy.keys.request],
  ['outcome', copy.keys.outcome],
  ['delivery', copy.keys.delivery],
  ['chat', copy.keys.chat],
  ['model', copy.keys.model],
  ['error', copy.keys.error],
  ['id', copy.keys.id],
]

/** Whether a key is named. Any other is a path into the payload. */
const isNamed = (key: string) => key === 'app' || keyDescriptions.some(([name]) => name === key)

const fixed: Record<string, string[]> = {
  status: ['pending', 'responded', 'timeout', 'error'],
  kind: ['permission', 'question', 'choice'],
  risk: ['low', 'medium', 'high', 'critical', '>=medium', '>=high'],
  decided: ['agent', 'policy', 'person', 'rule', 'grant'],
  outcome: [
    'approve',
    'deny',
    'answered',
    'ran',
    'failed',
    'refused',
    'open',
    '__timeout__',
    '__no_quorum__',
    '__cancelled__',
    '__withdrawn__',
  ],
  delivery: [
    'acked',
    'pulled',
    'fetched',
    'delivered',
    'queued',
    'unconfirmed',
    'refused',
    'unreachable',
    'too_late',
  ],
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

/** The known values of a key. */
export function valuesFor(key: string, known: FilterOptions | undefined): string[] {
  const list = lists[key]
  return list ? (known?.[list] ?? []) : (fixed[key] ?? [])
}

/** Quotes a value for a filter if needed. */
export const quoted = (value: string): string =>
  /[\s"]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value

/** Suggests keys and values at the start of a term, and values after its colon. */
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

/** The bounds of the term around the caret. Blanks within quotes belong to it. */
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
 * The filter without an unfinished term at its end, such as "agent:", which would match
 * nothing.
 */
export function withoutUnfinishedTerm(text: string): string {
  const [, key] = /(?:^|\s)-?(\w*):$/.exec(text) ?? []
  const begun = key !== undefined && isNamed(key.toLowerCase())
  return begun || /(?:^|\s)-$/.test(text) ? text.replace(/\S+$/, '').trimEnd() : text
}

/** A warning about a probable mistake in a filter that is valid anyway. */
export function filterHint(text: string): string | undefined {
  if ((text.match(/"/g)?.length ?? 0) % 2 === 1) return copy.openQuote
  for (const [, key, value] of text.replaceAll(/"[^"]*"/g, '""').matchAll(/(?:^|\s)-?([a-z]+):(\S*)/gi)) {
    const name = key?.toLowerCase() ?? ''
    if (isNamed(name)) {
      const known = fixed[name]
      const plain = value && /^\w+$/.test(value) ? value.toLowerCase() : undefined
      if (known && name !== 'error' && plain && name !== 'outcome' && !known.some((v) => v.startsWith(plain)))
        return copy.unknownValue(name, value ?? '', known.join(', '))
      continue
    }
    const near = keyDescriptions.find(([k]) => distance(k, name) === 1)?.[0]
    if (near && name !== 'app') return copy.didYouMean(key ?? '', near)
  }
  return undefined
}

/** The edit distance with transpositions; 2 means 2 or more. */
function distance(a: string, b: string): number {
  if (a === b) return 0
  if (Math.abs(a.length - b.length) > 1) return 2
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  const [restA, restB] = [a.slice(i), b.slice(i)]
  if (restA.slice(1) === restB.slice(1) || restA.slice(1) === restB || restA === restB.slice(1)) return 1
  return restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2) ? 1 : 2
}
