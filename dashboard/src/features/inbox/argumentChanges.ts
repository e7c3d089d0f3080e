import { isObject, toJson } from '../../lib/api/exactJson'
import type { Json, JsonObject } from '../../lib/api/types'

/** One changed argument. */
export interface ArgumentChange {
  name: string
  before: string
  after: string
}

const textOf = (v: Json | undefined): string =>
  v === undefined ? '' : typeof v === 'string' ? v : toJson(v, 2)

/** The changed arguments in the order of the original call, new ones last. */
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
