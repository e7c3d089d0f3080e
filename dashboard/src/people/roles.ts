// What is said of people on every screen; the words of sign-ins and links come with theirs.

/** Up to two letters that stand for a name. */
export function initials(name: string): string {
  const words = name.split(/[\s._@-]+/u).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const first = (word: string | undefined) => [...(word ?? '')].find((c) => /[\p{L}\p{N}]/u.test(c)) ?? ''
  const all = first(words[0]) + (words.length > 1 ? first(words.at(-1)) : '')
  return all.toLocaleUpperCase('en') || '?'
}

export const roleNames: Record<string, string> = {
  viewer: 'Viewer',
  operator: 'Operator',
  admin: 'Admin',
}

/** What a role may, in one line. */
export const roleDescriptions: Record<string, string> = {
  viewer: 'sees everything, answers nothing',
  operator: 'answers requests',
  admin: 'answers, and looks after people, tokens, rules and channels',
}

/** What the lock changes, in words. */
export const lockDescription =
  'From then on only people who have signed in can answer, cancel, extend or make rules here. Agents on this machine go on asking as before.'
