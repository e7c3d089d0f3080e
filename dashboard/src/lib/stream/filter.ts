/** A term of a filter, as the hub reads it (server/internal/filter): only the hub matches events. */
export interface Term {
  readonly not: boolean
  readonly key: string | undefined
  readonly value: string
  readonly regex: boolean
}

const tokens = /(-)?(?:([\w.]+):)?(?:"([^"]*)"?|\/((?:\\.|[^/\\])*)\/(?=\s|$)|(\S+))/g

/** The terms of a filter. */
export function termsOf(text: string): Term[] {
  return Array.from(text.matchAll(tokens), ([, minus, key, phrase, pattern, word]) => ({
    not: minus !== undefined,
    key: key?.toLowerCase(),
    value: phrase ?? pattern ?? word ?? '',
    regex: pattern !== undefined,
  })).filter(({ key, value }) => value !== '' || key !== undefined)
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
