import type { Problem } from '../types'

export * from './roles'

export interface ErrorText {
  title: string
  text: string
}

/** Why a sign-in failed, and what to do. */
export function signInError({ code, detail, hint, status, title }: Problem): ErrorText {
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
export function linkError({ code, field, detail, hint, status, title }: Problem): ErrorText {
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
  const text = sentences(said ?? title, hint)
  return {
    title: sorted[code] ?? 'This link no longer works',
    text: text.charAt(0).toUpperCase() + text.slice(1),
  }
}

/** Parts of what the hub says, each as a sentence. */
const sentences = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?…]$/.test(String(part)) ? part : `${part}.`))
    .join(' ')

/** Why the hub would not, and what helps. */
export const problemText = ({ detail, title, hint }: Problem): string => sentences(detail ?? title, hint)
