import { isPut, riskOf, type Request } from '../requests'
import type { Event, Me, Risk } from '../types'

/** Why a person can't answer a request here. */
export type Bar =
  { why: 'sign-in' | 'named' | 'role' | 'own' | 'passkey' } | { why: 'not-asked'; asked: string[] }

const ranks: Risk[] = ['low', 'medium', 'high', 'critical']

/** Why the person can't answer it; undefined when nothing is in the way, as far as the page knows. */
export function barOf(r: Request, who: Me | undefined): Bar | undefined {
  if (!who) return undefined // a hub that knows no people
  if (!who.canAnswer) return { why: who.verified ? 'role' : 'sign-in' }
  const { recipients = [] } = r.status
  if (isPut(r) && !who.verified) return { why: 'named' }
  if (r.problem?.code === 'self_approval') return { why: 'own' }
  if (recipients.length > 0 && !recipients.includes(who.name)) return { why: 'not-asked', asked: recipients }
  const risk = ranks.indexOf(riskOf(r) ?? 'low')
  if (who.passkeyFor && risk >= ranks.indexOf(who.passkeyFor) && who.verified && !who.passkeys)
    return { why: 'passkey' }
  return undefined
}

/** The request with the call as a voter changed it: that is what would run. */
export function asItStands(r: Request): Request {
  const { edited } = r.status
  const call = r.question.toolCall
  if (!edited || !call) return r
  const question = { ...r.question, toolCall: { ...call, arguments: edited.arguments as never } }
  return { ...r, question, event: withQuestion(r.event, question) }
}

/** An event with its question as it stands. */
export const withQuestion = (event: Event, question: Request['question']): Event => ({
  ...event,
  humanInTheLoop: question,
})
