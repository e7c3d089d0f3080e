import { hasRecipients, riskLevel, type Request } from '../requests'
import type { Event, Me, Response, Risk } from '../types'

/** Why a person cannot answer a request. */
export type Blocker =
  | { why: 'sign-in' | 'named' | 'role' | 'own' | 'passkey' }
  | { why: 'not-asked'; asked: string[] }
  // Passkeys work at this origin only.
  | { why: 'elsewhere'; at: string }

/** Whether a denial is still possible: denying needs no passkey. */
export const canOnlyDeny = (bar: Blocker | undefined): boolean =>
  bar?.why === 'passkey' || bar?.why === 'elsewhere'

const ranks: Risk[] = ['low', 'medium', 'high', 'critical']

/** Why the person cannot answer; undefined if they can, as far as the page knows. */
export function blockerFor(r: Request, who: Me | undefined): Blocker | undefined {
  if (!who) return undefined // a hub without people
  if (!who.canAnswer) return { why: who.verified ? 'role' : 'sign-in' }
  const { recipients = [] } = r.status
  if (hasRecipients(r) && !who.verified) return { why: 'named' }
  if (r.problem?.code === 'self_approval') return { why: 'own' }
  if (recipients.length > 0 && !recipients.includes(who.name)) return { why: 'not-asked', asked: recipients }
  if (!requiresPasskey(r, who)) return undefined
  if (!who.verified || !who.passkeys) return { why: 'passkey' }
  const at = passkeyOrigin(who)
  return at === undefined ? undefined : { why: 'elsewhere', at }
}

/** Whether approving requires a passkey. */
const requiresPasskey = (r: Request, who: Me): boolean =>
  who.passkeyFor !== undefined && ranks.indexOf(riskLevel(r) ?? 'low') >= ranks.indexOf(who.passkeyFor)

/** Whether this answer must be signed with a passkey. */
export const needsPasskey = (r: Request, who: Me | undefined, what: Response): boolean =>
  who !== undefined &&
  requiresPasskey(r, who) &&
  what.permission !== false &&
  what.choice?.toLowerCase() !== 'deny'

/**
 * The origin where this hub's passkeys work, if it is not this page's: passkeys are bound
 * to a host name, and 127.0.0.1 is none. undefined if they work here.
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
