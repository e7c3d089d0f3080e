import type { Problem } from '../api/types'
import { failureText } from './lazyText'

export * from './roles'
export { roleDescriptions } from './lazyText'

export interface ErrorText {
  title: string
  text: string
}

/** Explains why a sign-in failed, and the next step. */
export function signInError({ code, detail, hint, status, title }: Problem): ErrorText {
  if (status === 0) return failureText.unreachable
  if (code === 'sign_in' || code === 'not_found')
    return { title: failureText.linkInvalid, text: hint ?? failureText.linkUsed }
  if (code === 'provider') {
    const reason = detail ?? ''
    const known = Object.hasOwn(failureText.provider, reason) ? failureText.provider[reason] : undefined
    return { title: failureText.signInFailed, text: known ?? failureText.providerOther }
  }
  return { title: failureText.signInFailed, text: joinSentences(detail ?? title, hint) }
}

/** Explains why a signed link does not work, and the next step. */
export function linkError({ code, field, detail, hint, status, title }: Problem): ErrorText {
  if (status === 0) return failureText.unreachable
  if (code === 'no_token') return failureText.incomplete
  const reason = field === 'token' ? (detail ?? title).replace(/^token/, 'It') : detail
  const text = joinSentences(reason ?? title, hint)
  return {
    title: failureText.byCode[code] ?? failureText.linkInvalid,
    text: text.charAt(0).toUpperCase() + text.slice(1),
  }
}

/** Joins the parts of a problem, each ending in a period. */
const joinSentences = (...parts: (string | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => (/[.!?…]$/.test(String(part)) ? part : `${part}.`))
    .join(' ')

/** The reason and the hint of a refusal. */
export const problemText = ({ detail, title, hint }: Problem): string => joinSentences(detail ?? title, hint)
