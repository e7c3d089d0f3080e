/** Up to two letters of a name, for the avatar. */
export function initials(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const first = (word: string | undefined) => [...(word ?? '')].find((c) => /[\p{L}\p{N}]/u.test(c)) ?? ''
  const letters = first(words[0]) + (words.length > 1 ? first(words.at(-1)) : '')
  return letters.toLocaleUpperCase('en') || '?'
}

export const roleNames: Record<string, string> = {
  viewer: 'Viewer',
  operator: 'Operator',
  admin: 'Admin',
}

export const lockDescription =
  'Once locked, only signed-in people can answer, cancel, extend, or create rules. Agents on this machine can still ask.'
