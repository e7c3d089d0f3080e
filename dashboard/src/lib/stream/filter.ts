import { isNumber } from '../api/exactJson'
import type { Event, Json } from '../api/types'
import { fold, toolOf } from './eventText'
import { ratedKeys, ratingOf } from './ratings'
import { transcriptText } from './transcriptText'

/**
 * A parsed filter: words that must all occur, `key:value` with `*` as a wildcard, `-` for
 * negation, `"a phrase"`, `/a regex/`. `chat:` searches the transcripts, which only the hub has. The hub searches its history with the same language
 * (server/internal/filter); both run the cases in testing/filter-cases.json.
 */
export interface Filter {
  readonly text: string
  readonly terms: readonly Term[]
  /** The syntax error; undefined if the text is valid. */
  readonly problem?: string
}

export interface Term {
  readonly not: boolean
  readonly key: string | undefined
  readonly value: string
  readonly regex: boolean
  /** Whether the term occurs in a row, before `not` is applied. */
  readonly matches: (row: Filterable) => boolean
}

/** An event with its cached searchable text. */
export interface Filterable {
  readonly event: Event
  /** The case-folded text of the row, its payload and its question. */
  text(): string
}

const tokens = /(-)?(?:([\w.]+):)?(?:"([^"]*)"?|\/((?:\\.|[^/\\])*)\/(?=\s|$)|(\S+))/g

/** Parses a filter. Invalid terms are reported in problem and ignored. */
export function parse(text: string): Filter {
  const terms: Term[] = []
  let problem: string | undefined
  for (const found of text.matchAll(tokens)) {
    const [, minus, key, phrase, pattern, word] = found
    const value = phrase ?? pattern ?? word ?? ''
    if (value === '' && key === undefined) continue
    try {
      terms.push({
        not: minus !== undefined,
        key: key?.toLowerCase(),
        value,
        regex: pattern !== undefined,
        matches: termMatcher(key?.toLowerCase(), valueTest(key, value, pattern)),
      })
    } catch {
      problem = `/${pattern}/ is not a regular expression`
    }
  }
  return { text, terms, problem }
}

/** Compiles with the flag u, like the hub. Patterns that are invalid with it fall back to none. */
function regexOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'iu')
  } catch {
    return new RegExp(pattern, 'i')
  }
}

function valueTest(key: string | undefined, value: string, pattern: string | undefined) {
  if (pattern !== undefined) {
    const regex = regexOf(pattern)
    return (text: string) => regex.test(text)
  }
  const wanted = fold(value)
  const levels = key?.toLowerCase() === 'risk' ? riskLevels(wanted) : undefined
  if (levels) return (text: string) => levels.includes(text)
  if (key === undefined || (key.toLowerCase() === TRANSCRIPT && !wanted.includes('*')))
    return (text: string) => text.includes(wanted)
  if (!wanted.includes('*')) return (text: string) => text === wanted
  if (key?.toLowerCase() === TRANSCRIPT) {
    const parts = wanted.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    const regex = new RegExp(parts.join('.*'), 's')
    return (text: string) => regex.test(text)
  }
  const escaped = wanted.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  const regex = new RegExp(`^${escaped}$`, 's')
  return (text: string) => regex.test(text)
}

const RISKS = ['low', 'medium', 'high', 'critical']

/** The levels that an order such as ">=medium" selects; undefined if the value is none. */
function riskLevels(value: string): string[] | undefined {
  const [, order, level = ''] = /^([<>]=?)(.*)$/s.exec(value) ?? []
  const at = RISKS.indexOf(level)
  if (order === undefined || at < 0) return undefined
  if (order.startsWith('>')) return RISKS.slice(order === '>' ? at + 1 : at)
  return RISKS.slice(0, order === '<' ? at : at + 1)
}

/** Whether a match depends on the ratings of calls, which follow their events. */
export const usesRatings = (filter: Filter): boolean =>
  filter.terms.some(({ key }) => key !== undefined && Object.hasOwn(ratedKeys, key))

/** The key of terms about transcripts. Events of lists and streams have none. */
const TRANSCRIPT = 'chat'

/** Whether only the hub can tell which events match. */
export const usesTranscripts = (filter: Filter): boolean => filter.terms.some(({ key }) => key === TRANSCRIPT)

/** Whether a row matches every term. */
export function matches(filter: Filter, row: Filterable): boolean {
  for (const term of filter.terms) if (term.matches(row) === term.not) return false
  return true
}

const REMEMBERED = 1000

/** The match function of a term. Field values repeat, so their results are cached. */
function termMatcher(key: string | undefined, test: (text: string) => boolean): Term['matches'] {
  if (key === undefined) return (row) => test(row.text())
  if (key === TRANSCRIPT)
    return ({ event }) => {
      const chat = transcriptText(event.chat as Json | undefined)
      return chat !== '' && test(chat)
    }
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined
  if (!field) {
    const path = key.split('.')
    return ({ event: { payload } }) =>
      scalars(lookup(payload, path) ?? lookup(payload.tool_input, path)).some((value) => test(fold(value)))
  }
  const known = new Map<unknown, boolean>()
  const testValue = (value: unknown): boolean => {
    if (value === undefined) return false
    let found = known.get(value)
    if (found === undefined) {
      found = test(fold(String(value)))
      if (known.size < REMEMBERED) known.set(value, found)
    }
    return found
  }
  const rated = Object.hasOwn(ratedKeys, key) ? ratedKeys[key] : undefined
  if (!rated) return ({ event }) => testValue(field(event))
  return ({ event }) => {
    const rating = ratingOf(event.id)
    return testValue(field(event)) || (rating !== undefined && testValue(rated(rating)))
  }
}

/** The named keys of a filter. Any other key is a path into the payload. */
export const fields: Record<string, (e: Event) => unknown> = {
  agent: (e) => e.source_app,
  app: (e) => e.source_app,
  session: (e) => e.session_id,
  type: (e) => e.hook_event_type,
  tool: (e) => toolOf(e),
  model: (e) => e.model_name,
  id: (e) => e.id,
  error: (e) => e.error ?? '',
  kind: (e) => e.humanInTheLoop?.type,
  risk: (e) => e.humanInTheLoopStatus?.risk ?? e.humanInTheLoop?.risk,
  decided: () => undefined,
  chat: () => undefined, // see termMatcher
  status: (e) => e.humanInTheLoopStatus?.status,
  outcome: (e) => e.humanInTheLoopStatus?.outcome,
  delivery: (e) => e.humanInTheLoopStatus?.delivery?.state,
}

/** Flattens a value: a list or an object matches if anything inside does. */
function scalars(value: Json | undefined): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' && !isNumber(value)
    ? Object.values(value).flatMap(scalars)
    : [String(value)]
}

const names = new Map<string, string>() // member name → folded name

/** Case-folds a member name, with a cache because names repeat. */
function foldName(name: string): string {
  let folded = names.get(name)
  if (folded === undefined) {
    folded = fold(name)
    if (names.size < REMEMBERED && name.length < 100) names.set(name, folded)
  }
  return folded
}

function lookup(value: Json | undefined, path: string[]): Json | undefined {
  for (const name of path) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
    const key: string | undefined = Object.keys(value).find((k) => foldName(k) === name)
    value = key === undefined ? undefined : value[key]
  }
  return value
}

/** Adds a term to a filter, replacing its opposite. not negates the term. */
export function addTerm(text: string, key: string, value: string, not = false): string {
  const quoted = /[\s"]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value
  const plain = `${key}:${quoted}`
  const [term, opposite] = not ? ['-' + plain, plain] : [plain, '-' + plain]
  const has = text.split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/).filter(Boolean)
  if (has.includes(term)) return text
  return [...has.filter((t) => t !== opposite), term].join(' ')
}
