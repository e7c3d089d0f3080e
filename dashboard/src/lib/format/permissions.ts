import { hasRecipients, isHarmless, riskLevel, type Request } from '../stream/requests'
import type { Freeze } from '../api/schema'
import type { Event, Me, Response, Risk } from '../api/types'
import { requestText } from './text'

/** Why a person cannot answer a request. */
export type Blocker =
  | { why: 'sign-in' | 'named' | 'role' | 'own' | 'passkey' }
  | { why: 'not-asked'; recipients: string[] }
  /** Nothing of a frozen agent is approved. */
  | { why: 'frozen'; freeze: Freeze }
  /** at: the only origin where passkeys work. */
  | { why: 'elsewhere'; at: string }

/** Whether a denial is still possible: denying needs no passkey, and no running agent. */
export const canOnlyDeny = (blocker: Blocker | undefined): boolean =>
  blocker?.why === 'passkey' || blocker?.why === 'elsewhere' || blocker?.why === 'frozen'

const ranks: Risk[] = ['low', 'medium', 'high', 'critical']

/**
 * Returns why the person cannot answer, or undefined if they can. The hub checks again and
 * can still reject the answer.
 */
export function blockerFor(r: Request, who: Me | undefined): Blocker | undefined {
  if (!who) return undefined // a hub without people
  if (!who.canAnswer) return { why: who.verified ? 'role' : 'sign-in' }
  const { recipients = [] } = r.status
  if (hasRecipients(r) && !who.verified) return { why: 'named' }
  if (r.problem?.code === 'self_approval') return { why: 'own' }
  if (recipients.length > 0 && !recipients.includes(who.name)) return { why: 'not-asked', recipients }
  if (!requiresPasskey(r, who)) return undefined
  if (!who.verified || !who.passkeys) return { why: 'passkey' }
  const at = passkeyOrigin(who)
  return at === undefined ? undefined : { why: 'elsewhere', at }
}

/** Whether approving requires a passkey. */
export function requiresPasskey(r: Request, who: Me | undefined): boolean {
  const threshold = who?.passkeyFor
  if (threshold === undefined) return false
  const level = ranks.indexOf(riskLevel(r) ?? 'low')
  return threshold === 'unknown' ? !isHarmless(r) || level > 0 : level >= ranks.indexOf(threshold)
}

/** A note on the class of the call, and on the passkey that approving it needs; '' if there is none. */
export function classNote(r: Request, who: Me | undefined): string {
  const { harmless, passkey } = requestText.findings
  const known = isHarmless(r) ? harmless : undefined
  return [known, requiresPasskey(r, who) ? passkey : undefined].filter((s) => s !== undefined).join(' ')
}

/** Whether this answer must be signed with a passkey. */
export const needsPasskey = (r: Request, who: Me | undefined, what: Response): boolean =>
  who !== undefined &&
  requiresPasskey(r, who) &&
  what.permission !== false &&
  what.choice?.toLowerCase() !== 'deny'

/**
 * Returns the origin where this hub's passkeys work, or undefined if it is this page's
 * origin. Passkeys are bound to a host name, and 127.0.0.1 is not a host name.
 */
export const passkeyOrigin = (who: Me | undefined, here = location.origin): string | undefined =>
  who?.passkeyAt !== undefined && who.passkeyAt !== here ? who.passkeyAt : undefined

/** The request with the edits of a voter applied: the call that would run. */
export function withEdits(r: Request): Request {
  const { edited } = r.status
  const call = r.question.toolCall
  if (!edited || !call) return r
  const question = { ...r.question, toolCall: { ...call, arguments: edited.arguments as never } }
  return { ...r, question, event: withQuestion(r.event, question) }
}

/** A copy of the event with another question. */
export const withQuestion = (event: Event, question: Request['question']): Event => ({
  ...event,
  humanInTheLoop: question,
})
