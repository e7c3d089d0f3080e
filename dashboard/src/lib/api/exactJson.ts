import type { JsonObject } from './types'

/**
 * JSON in which a number keeps its text. A double holds neither 9007199254740993 nor 1e400, and an
 * approval is for the characters that the agent sent.
 */

/** A number that JavaScript would write differently. It calculates as its double; its text is its source. */
class SourceNumber extends Number {
  readonly #source: string
  constructor(source: string) {
    super(source)
    this.#source = source
  }
  override toString(): string {
    return this.#source
  }
}

export const isNumber = (v: unknown): v is number => typeof v === 'number' || v instanceof Number

export const isObject = (v: unknown): v is JsonObject =>
  v !== null && typeof v === 'object' && !Array.isArray(v) && !isNumber(v)

/** Marks a number in a string. It is random, so an agent's text can't contain it. */
const MARK = crypto.getRandomValues(new Uint32Array(4)).join('-') + ':'
const MARKED = new RegExp(`"${MARK}([^"]*)"`, 'g')

/** A document without it has no number that JavaScript would write differently. */
const SUSPECT = /(?:^|[:[,\s])-?(?:\d{16}|\d+[.eE])|(?:^|[:[,\s])-0/

/** Parses JSON like JSON.parse, but numbers keep their text. */
export function parseJson(text: string): unknown {
  const plain: unknown = JSON.parse(text)
  const marked = SUSPECT.test(text) ? markNumbers(text) : text
  return marked === text ? plain : withSources(JSON.parse(marked))
}

/** The number that a text is in JSON; undefined if it is none, such as 0x1F4 or 1,5. */
export function parseNumber(text: string): number | undefined {
  try {
    const value = parseJson(text)
    return isNumber(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Writes JSON like JSON.stringify, with the text of each number as it was read. */
export const toJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_, v: unknown) => (v instanceof SourceNumber ? MARK + String(v) : v),
    indent,
  ).replace(MARKED, '$1')

/** JSON for people: line feeds in texts stay line feeds. */
export const readableJson = (value: unknown): string =>
  toJson(value, 2).replace(/\\(.)/g, (escape, of) => (of === 'n' ? '\n' : escape))

/** The numbers of a valid document, outside of its strings. */
export function* numbersIn(json: string): Generator<RegExpExecArray, undefined> {
  const token = /"|-?\d[\d.eE+-]*/g
  for (let found = token.exec(json); found; found = token.exec(json)) {
    if (found[0] === '"') token.lastIndex = endOfString(json, token.lastIndex)
    else yield found
  }
}

/** The index after the quote that ends a string. One pattern for it overflows the stack on long strings. */
function endOfString(json: string, from: number): number {
  for (let end = json.indexOf('"', from); end >= 0; end = json.indexOf('"', end + 1)) {
    let escapes = 0
    while (json[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return json.length
}

function markNumbers(json: string): string {
  let marked = ''
  let done = 0
  for (const { 0: source, index } of numbersIn(json)) {
    if (String(Number(source)) === source) continue
    marked += `${json.slice(done, index)}"${MARK}${source}"`
    done = index + source.length
  }
  return marked + json.slice(done)
}

/** Replaces the marked strings. It keeps its own stack, because agents nest deeper than calls can. */
function withSources(document: unknown): unknown {
  const root = [document]
  const open: object[] = [root]
  for (let at = open.pop(); at; at = open.pop()) {
    const members = at as Record<string, unknown>
    for (const name of Object.keys(members)) {
      const value = members[name]
      if (typeof value === 'string' && value.startsWith(MARK))
        members[name] = new SourceNumber(value.slice(MARK.length))
      else if (value !== null && typeof value === 'object') open.push(value)
    }
  }
  return root[0]
}
