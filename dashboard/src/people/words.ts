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
  if (/expired|too old|15 min/i.test(said))
    return { title: 'This link has expired', text: hint ?? `A sign-in link is good for 15 minutes. ${again}` }
  if (/used/i.test(said))
    return {
      title: 'This link has been used',
      text: hint ?? `Each link signs in one browser, once. If that was not you, tell an admin. ${again}`,
    }
  if (code === 'sign_in' || code === 'not_found')
    return {
      title: 'This link no longer works',
      text: hint ?? `It has been used, or it is too old. ${again}`,
    }
  return { title: 'Signing in failed', text: hint ? `${said} ${hint}` : said }
}
