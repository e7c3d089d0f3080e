/** The most letters of the end of an object that stay when a title is cut: a file name, or the last words. */
const MAX_TAIL = 24
const SHORT_TAIL = 12

/** The start of a title's object, which may be cut, and its end, which stays. */
export function splitObject(object: string): [start: string, end: string] {
  const at = Math.max(object.lastIndexOf('/'), object.lastIndexOf(' '))
  const fits = at > 0 && object.length - at <= MAX_TAIL && object.length - at > 1
  const end = fits ? object.slice(at) : [...object].slice(-SHORT_TAIL).join('')
  return end.length === object.length ? ['', object] : [object.slice(0, -end.length), end]
}
