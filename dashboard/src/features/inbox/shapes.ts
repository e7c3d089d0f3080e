import { toJson } from '../../lib/api/exactJson'
import { callPreview } from '../../lib/format/callPreview'
import { countInvisible } from '../../lib/format/invisibleChars'
import { isHarmless, type Request } from '../../lib/stream/requests'

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

/** A call as words on one line, and its other arguments; undefined if it needs more room. */
function lineOf(r: Request): { words: string[]; more: string } | undefined {
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
  return { words: line.split(' '), more }
}

/** The requests by shape, in the order of the first of each. What is unlike all others has no words, unless it is harmless. */
export function shapesOf(requests: readonly Request[]): Shape[] {
  const shapes: (Shape & { key?: string })[] = []
  for (const r of requests) {
    const line = lineOf(r)
    const { cwd, branch, commit } = r.question.context ?? {}
    const tool = r.question.toolCall?.name
    const key =
      line && toJson([r.event.source_app, tool, cwd, branch, commit, line.more].map((v) => v ?? null))
    const shape = line && shapes.find((s) => s.key === key && joins(s, line.words))
    if (shape) shape.requests.push(r)
    else shapes.push({ requests: [r], more: '', differing: [], key, ...line })
  }
  return shapes.map((s) => {
    const [only, ...others] = s.requests
    if (others.length === 0 && only && !isHarmless(only)) return { ...s, words: undefined }
    const { at } = s
    return at === undefined ? s : { ...s, differing: s.requests.map((r) => lineOf(r)?.words[at] ?? '') }
  })
}

/** Whether a call differs from the shape in no word, or in the one word in which its calls differ. Not in the first: that is another program. */
function joins(shape: Shape, words: string[]): boolean {
  const first = shape.words
  if (first?.length !== words.length) return false
  const different = words.flatMap((word, i) => (word === first[i] ? [] : [i]))
  const at = different[0]
  if (at === undefined) return true
  if (different.length > 1 || at === 0 || (shape.at ?? at) !== at) return false
  shape.at = at
  return true
}
