import type { Event, Json } from './types'

/**
 * A filter as a person writes it: words that must all occur, `key:value` with `*`
 * for anything, `-` before what must not be, `"a phrase"`, `/a regex/`. The hub
 * looks through its history by the same language (server/internal/filter); the
 * cases in testing/filter-cases.json are run by both.
 */
export interface Filter {
  readonly text: string
  readonly terms: readonly Term[]
  /** What is wrong with the text, undefined when nothing is. */
  readonly problem?: string
}

export interface Term {
  readonly not: boolean
  readonly key: string | undefined
  readonly value: string
  readonly regex: boolean
  /** Whether it is found in a row, before `not`. */
  readonly matches: (row: Filterable) => boolean
}

/** What a filter looks at: an event, with its searchable text made once. */
export interface Filterable {
  readonly event: Event
  /** Folded text of the row and of what the payload and the question hold. */
  text(): string
}

const tokens = /(-)?(?:([\w.]+):)?(?:"([^"]*)"?|\/((?:\\.|[^/\\])*)\/(?=\s|$)|(\S+))/g

/** Reads a filter. A text with a mistake filters by its other terms. */
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

/** Makes capitals and small letters the same. ς is a σ at a word's end, and ſ is an old s. */
export const fold = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ').replaceAll('ſ', 's')

/** With the flag u it means what it means to the hub. Older habits get by without. */
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
  if (key === undefined) return (text: string) => text.includes(wanted)
  if (!wanted.includes('*')) return (text: string) => text === wanted
  const escaped = wanted.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')
  const regex = new RegExp(`^${escaped}$`, 's')
  return (text: string) => regex.test(text)
}

/** Whether every term of the filter holds. */
export function matches(filter: Filter, row: Filterable): boolean {
  for (const term of filter.terms) if (term.matches(row) === term.not) return false
  return true
}

const REMEMBERED = 1000

/** Where a term looks. What a field says is the same again and again: it is tested once. */
function termMatcher(key: string | undefined, test: (text: string) => boolean): Term['matches'] {
  if (key === undefined) return (row) => test(row.text())
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined
  if (!field) {
    const path = key.split('.')
    return ({ event: { payload } }) =>
      scalars(lookup(payload, path) ?? lookup(payload.tool_input, path)).some((value) => test(fold(value)))
  }
  const known = new Map<unknown, boolean>()
  return ({ event }) => {
    const value = field(event)
    if (value === undefined) return false
    let found = known.get(value)
    if (found === undefined) {
      found = test(fold(String(value)))
      if (known.size < REMEMBERED) known.set(value, found)
    }
    return found
  }
}

/** The keys a filter knows by name. Any other is a path into the payload. */
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
  status: (e) => e.humanInTheLoopStatus?.status,
  outcome: (e) => e.humanInTheLoopStatus?.outcome,
  delivery: (e) => e.humanInTheLoopStatus?.delivery?.state,
}

/** The tool an event is about, wherever its client put the name. */
export function toolOf(e: Event): string | undefined {
  if (e.tool_name) return e.tool_name
  if (e.humanInTheLoop?.toolCall?.name) return e.humanInTheLoop.toolCall.name
  const name = e.payload.tool_name
  return typeof name === 'string' ? name : undefined
}

/** A list or an object matches when something in it does. */
function scalars(value: Json | undefined): string[] {
  if (value === undefined || value === null) return []
  return typeof value === 'object' ? Object.values(value).flatMap(scalars) : [String(value)]
}

const names = new Map<string, string>() // a member's name → the same folded

/** Members have the same names again and again. */
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

/** The text with one more term, or with the term's opposite turned round. not: what must not be. */
export function addTerm(text: string, key: string, value: string, not = false): string {
  const quoted = /[\s"]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value
  const plain = `${key}:${quoted}`
  const [term, opposite] = not ? ['-' + plain, plain] : [plain, '-' + plain]
  const has = text.split(/\s+(?=(?:[^"]*"[^"]*")*[^"]*$)/).filter(Boolean)
  if (has.includes(term)) return text
  return [...has.filter((t) => t !== opposite), term].join(' ')
}
