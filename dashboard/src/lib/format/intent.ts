import type { Intent } from '../api/schema'

const pathVerbs = new Set(['Edit', 'Write', 'Read', 'Delete', 'Download'])
/** Length of the change at the end of a title. */
const MAX_CHANGE = 40

/** Keeps the head and the tail of a text. */
function middle(text: string, room: number): string {
  const letters = [...text]
  if (letters.length <= room) return text
  const tail = Math.floor(room * 0.5)
  const head = Math.max(1, room - tail - 3)
  return `${letters.slice(0, head).join('').trimEnd()} … ${letters.slice(-tail).join('').trimStart()}`
}

/** Leaves out the first directories of a path. The file name is always whole. */
function shortPath(path: string, room: number): string {
  const parts = path.split('/')
  let tail = parts.pop() ?? ''
  if (path.length <= room) return path
  for (
    let part = parts.pop();
    part !== undefined && part.length + tail.length + 3 <= room;
    part = parts.pop()
  )
    tail = `${part}/${tail}`
  return `…/${tail}`
}

/** Shortens an intent to a number of characters. A path keeps its file name, other text both ends. */
export function fitIntent({ verb, object = '', change = '' }: Intent, room = 70): Required<Intent> {
  const end = middle(change, MAX_CHANGE)
  const left = Math.max(20, room - verb.length - end.length - 2)
  return { verb, object: (pathVerbs.has(verb) ? shortPath : middle)(object, left), change: end }
}
