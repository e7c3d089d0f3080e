import { toJson } from '../../lib/api/exactJson'
import { callPreview } from '../../lib/format/callPreview'
import { countInvisible } from '../../lib/format/invisibleChars'
import type { Freeze } from '../../lib/api/schema'
import { isHarmless, isWhole, type Request } from '../../lib/stream/requests'
import { bulkBlocker } from './view'

/** Requests whose calls are equal but for one word. */
export interface Shape {
  requests: Request[]
  /** The words of the first call. Undefined: the calls are shown in full. */
  words?: string[]
  /** The index of the word that differs; undefined while the calls are equal. */
  at?: number
  /** All other arguments of the calls, which are equal. */
  more: string
  /** That word of each call. */
  differing: string[]
}

/** The length of a call that fits in one line. */
const MAX_LINE = 160

const textOf = (value: unknown) => (typeof value === 'string' ? value : toJson(value))

interface Line {
  words: string[]
  /** Its other arguments. */
  more: string
  /** Equal for calls that may have one shape. */
  key: string
}
/** The lines of requests, which are replaced when they change. */
const lines = new WeakMap<Request, Line | false>()

/** A call as words on one line; undefined if it needs more room. */
function lineOf(r: Request): Line | undefined {
  let line = lines.get(r)
  if (line === undefined) lines.set(r, (line = readLine(r) ?? false))
  return line || undefined
}

function readLine(r: Request): Line | undefined {
  const preview = callPreview(r.event, r.status.view)
  if (!preview || preview.plan !== undefined || preview.changes.length > 0 || preview.commands.length > 1)
    return undefined
  if (preview.view?.unread?.length || r.status.findings?.length) return undefined
  const rest = preview.rest.filter(([name]) => name !== 'description').map(([n, v]) => `${n} ${textOf(v)}`)
  const command = preview.commands[0]?.text
  const line = command ?? [preview.tool, ...rest].join(' ')
  const more = command === undefined ? '' : rest.join(' ')
  const all = line + more
  if (all.length > MAX_LINE || all.includes('\n') || countInvisible(all) > 0) return undefined
  const { cwd, branch, commit } = r.question.context ?? {}
  // As the call itself has them: without a toolCall or a context they come from the event.
  const apart = [r.event.source_app, preview.tool, preview.cwd, cwd, branch, commit, more]
  const words = line.split(' ')
  return { words, more, key: toJson([...apart, words.length, words[0]].map((v) => v ?? null)) }
}

/** The requests by shape, in the order of the first of each. What is unlike all others has no words, unless it is harmless. */
export function shapesOf(requests: readonly Request[]): Shape[] {
  const shapes: Shape[] = []
  const byKey = new Map<string, Shape[]>()
  for (const r of requests) {
    const line = lineOf(r)
    const like = line && (byKey.get(line.key) ?? [])
    const shape = like?.find((s) => joins(s, line?.words ?? []))
    if (shape) {
      shape.requests.push(r)
      continue
    }
    const made = { requests: [r], words: line?.words, more: line?.more ?? '', differing: [] }
    shapes.push(made)
    if (line) byKey.set(line.key, [...(like ?? []), made])
  }
  return shapes.map((s) => {
    const [only, ...others] = s.requests
    if (others.length === 0 && only && !isHarmless(only)) return { ...s, words: undefined }
    const { at } = s
    return at === undefined ? s : { ...s, differing: s.requests.map((r) => lineOf(r)?.words[at] ?? '') }
  })
}

/** The groups of like calls that can be approved together, by the id of their first request. */
export function groupsOf(requests: readonly Request[], freezes: readonly Freeze[]): Map<number, Shape> {
  const open = requests.filter((r) => isWhole(r.event) && bulkBlocker(r, freezes) === undefined)
  const groups = new Map<number, Shape>()
  for (const shape of shapesOf(open)) {
    const [first, second] = shape.requests
    if (first && second) groups.set(first.id, shape)
  }
  return groups
}

/**
 * A word that is an operand by its form: a path or a number. Any other may be a subcommand or an option of
 * some program, at any place, as in "git -C x log" or "npm run deploy".
 */
const OPERAND = /^(?!-)(?=.*[/.]|\d+$)[\p{L}\p{N}_.~/@%+,:*?-]+$/u

/** Whether a call differs from the shape in no word, or in the one operand in which its calls differ. Not in the first word: that is another program. */
function joins(shape: Shape, words: string[]): boolean {
  const first = shape.words
  if (first?.length !== words.length) return false
  const different = words.flatMap((word, i) => (word === first[i] ? [] : [i]))
  const at = different[0]
  if (at === undefined) return true
  if (different.length > 1 || at === 0 || (shape.at ?? at) !== at) return false
  if (![first[at], words[at]].every((word) => OPERAND.test(word ?? ''))) return false
  shape.at = at
  return true
}
