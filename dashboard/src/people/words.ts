import type { Problem } from '../types'

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
export const mayDo: Record<string, string> = {
  viewer: 'sees everything, answers nothing',
  operator: 'answers requests',
  admin: 'answers, and looks after people, tokens, rules and channels',
}

/** What the lock changes, in words. */
export const LOCKING =
  'From then on only people who have signed in can answer, cancel, extend or make rules here. Agents on this machine go on asking as before.'

export interface Failure {
  title: string
  text: string
}

/** Why a sign-in failed, and what to do. */
export function failureOf({ code, detail, hint, status, title }: Problem): Failure {
  const again = 'Ask an admin for another link; your own hub prints one when it is started.'
  const said = detail ?? title
  if (status === 0)
    return { title: 'The hub can’t be reached', text: 'Your link is still good. Try again in a moment.' }
  if (code === 'sign_in' || code === 'not_found')
    return {
      title: 'This link no longer works',
      text: hint ?? `It has been used, or it is too old. ${again}`,
    }
  return { title: 'Signing in failed', text: sentences(said, hint) }
}

/** Why a signed link does not work, and what to do. */
export function linkFailure({ code, field, detail, hint, status, title }: Problem): Failure {
  const sorted: Record<string, string> = {
    decided: 'It is decided already',
    expired: 'It is over',
    stale: 'It was changed since you were asked',
    held: 'Somebody has just answered it',
    too_many: 'Too many tries',
  }
  if (status === 0)
    return { title: 'The hub can’t be reached', text: 'Your link is still good. Try again in a moment.' }
  if (code === 'no_token')
    return {
      title: 'This link is not whole',
      text: 'The part behind # is missing. Open it again from the message that it came in.',
    }
  const said = field === 'token' ? (detail ?? title).replace(/^token/, 'It') : detail
  return { title: sorted[code] ?? 'This link no longer works', text: sentences(said ?? title, hint) }
}

/** Parts of what the hub says, each as a sentence. */
const sentences = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?…]$/.test(String(part)) ? part : `${part}.`))
    .join(' ')

/** Why the hub would not, and what helps. */
export const saidBy = ({ detail, title, hint }: Problem): string => sentences(detail ?? title, hint)
