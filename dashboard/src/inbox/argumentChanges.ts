import type { Json, JsonObject } from '../types'

/** One argument that is another than it was. */
export interface ArgumentChange {
  name: string
  before: string
  after: string
}

const isObject = (v: unknown): v is JsonObject => v !== null && typeof v === 'object' && !Array.isArray(v)

const textOf = (v: Json | undefined): string =>
  v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v, null, 2)

/** The arguments that differ, in the order of what was asked for, new ones last. */
export function argumentChanges(before: unknown, after: unknown): ArgumentChange[] {
  if (!isObject(before) || !isObject(after)) {
    const [was, is] = [textOf(before as Json), textOf(after as Json)]
    return was === is ? [] : [{ name: 'arguments', before: was, after: is }]
  }
  const all = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const own = (of: JsonObject, name: string) => (Object.hasOwn(of, name) ? of[name] : undefined)
  return all
    .map((name) => ({ name, before: textOf(own(before, name)), after: textOf(own(after, name)) }))
    .filter(({ before, after }) => before !== after)
}
