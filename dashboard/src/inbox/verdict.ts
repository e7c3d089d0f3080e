import { lapse, left } from '../clock'
import { lost, type Request } from '../requests'
import type { Delivery, HumanInTheLoop, Kind, Risk } from '../types'

export type Tone = 'wait' | 'ok' | 'no' | 'fail' | 'plain'

/** How a request stands, in one word. */
export interface Verdict {
  word: string
  tone: Tone
  icon: 'waiting' | 'check' | 'x' | 'clock' | 'stop' | 'reply'
}

const ends: Record<string, Verdict> = {
  approve: { word: 'Approved', tone: 'ok', icon: 'check' },
  deny: { word: 'Denied', tone: 'no', icon: 'x' },
  answered: { word: 'Answered', tone: 'ok', icon: 'reply' },
  __timeout__: { word: 'No answer', tone: 'plain', icon: 'clock' },
  __cancelled__: { word: 'Cancelled', tone: 'plain', icon: 'stop' },
  __withdrawn__: { word: 'Withdrawn by the agent', tone: 'plain', icon: 'stop' },
  __no_quorum__: { word: 'No majority', tone: 'plain', icon: 'stop' },
}

export function verdictOf(r: Request): Verdict {
  const { status, sending } = r
  if (sending?.cancel !== undefined) return { word: 'Cancelled', tone: 'plain', icon: 'stop' }
  const answer = sending?.answer ?? status.response
  const outcome = sending ? undefined : status.outcome
  if (!sending && status.status === 'pending') return { word: 'Needs you', tone: 'wait', icon: 'waiting' }
  const end = outcome === undefined ? undefined : ends[outcome]
  if (end) return end
  if (answer?.permission !== undefined && (sending || status.status === 'responded')) {
    const word = answer.permission ? 'approve' : 'deny'
    return ends[word] as Verdict
  }
  if (answer?.choice !== undefined) return { word: answer.choice, tone: 'ok', icon: 'check' }
  if (status.status === 'timeout') return ends.__timeout__ as Verdict
  if (status.status === 'error') return ends.__cancelled__ as Verdict
  return ends.answered as Verdict
}

/** Who brought it to its end, and how sure that is. */
export function byWhom(r: Request): string {
  const { status } = r
  if (r.sending || r.mine) return 'you'
  switch (status.source) {
    case 'rule':
      return 'a rule'
    case 'timeout':
      return 'the deadline'
    case 'agent':
      return 'the agent'
    case 'session_end':
      return 'the end of the session'
    case 'orphaned':
      return 'the agent going away'
    default:
      return status.respondedBy?.name ?? 'somebody'
  }
}

/** Why this page's answer is not the one that counts; undefined when it does, or there was none. */
export function beatenBy(r: Request): string | undefined {
  if (r.problem?.code === 'expired') return 'It was over before your answer came. This is how it ended.'
  if (r.problem?.code !== 'decided') return undefined
  const who = r.mine ? 'It' : byWhom(r)
  return `${who} was faster: your answer was not taken. This is the one that counts.`
}

export type StepState = 'done' | 'busy' | 'open' | 'failed'

/** One of the three ticks: saved, sent, the agent has it. */
export interface Step {
  state: StepState
  label: string
  /** How long it took, when known. */
  took?: string
}

export interface Progress {
  steps: [Step, Step, Step]
  /** What went wrong, what is kept and what to do; undefined when nothing did. */
  trouble?: { title: string; text: string }
}

/** How far an answer has got on its way to the agent. */
export function progressOf(r: Request, now: number): Progress | undefined {
  const { status } = r
  if (r.sending) {
    return { steps: [step('busy', 'saving'), step('open', 'sent'), step('open', 'agent has it')] }
  }
  if (status.status === 'pending' || status.outcome === '__withdrawn__') return undefined
  const saved = step('done', 'saved', r.savedIn === undefined ? undefined : lapse(r.savedIn))
  const delivery = status.delivery
  if (!delivery) return undefined
  return { steps: [saved, ...onItsWay(delivery, status.respondedAt)], trouble: troubleOf(delivery, now) }
}

function onItsWay(d: Delivery, respondedAt: number | undefined): [Step, Step] {
  const took =
    d.deliveredAt !== undefined && respondedAt !== undefined ? lapse(d.deliveredAt - respondedAt) : undefined
  const sent = step('done', 'sent')
  switch (d.state) {
    case 'acked':
      return [sent, step('done', 'agent has it', took)]
    case 'pulled':
      return [step('done', 'fetched'), step('done', 'agent has it', took)]
    case 'delivered':
      return d.confirmed === 'close'
        ? [sent, step('done', 'agent took it', took)]
        : [sent, step('open', 'agent kept the line open')]
    case 'none':
      return [step('busy', 'waits to be fetched'), step('open', 'agent has it')]
    case 'queued':
      return [step('busy', 'about to be sent'), step('open', 'agent has it')]
    case 'sending':
      return [step('busy', 'sending'), step('open', 'agent has it')]
    case 'unconfirmed':
      return [sent, step('failed', 'not confirmed')]
    case 'too_late':
      return [sent, step('failed', 'too late')]
    case 'refused':
      return [step('failed', 'refused'), step('open', 'agent has it')]
    case 'unreachable':
      return [step(d.nextAttemptAt ? 'busy' : 'failed', 'agent unreachable'), step('open', 'agent has it')]
    case 'blocked':
      return [step('failed', 'blocked'), step('open', 'agent has it')]
  }
}

const step = (state: StepState, label: string, took?: string): Step => ({ state, label, took })

function troubleOf(d: Delivery, now: number): Progress['trouble'] {
  const cause = d.lastError ? ` (${d.lastError})` : ''
  const tries = d.attempts === 1 ? '1 try' : `${d.attempts} tries`
  switch (d.state) {
    case 'unconfirmed':
      return {
        title: 'The line broke',
        text: `The answer was sent, but the agent did not confirm it${cause}. It may have it or not: look at what it does next.`,
      }
    case 'refused':
      return {
        title: 'The agent would not take it',
        text: `Its listener refused the answer${cause}. The answer is kept here; copy it and tell the agent yourself.`,
      }
    case 'unreachable':
      return d.nextAttemptAt !== undefined
        ? {
            title: 'The agent can’t be reached',
            text: `Nobody takes the call${cause}. The answer is kept; next try in ${left(d.nextAttemptAt - now)}, after ${tries}.`,
          }
        : {
            title: 'The agent could not be reached',
            text: `The hub gave up after ${tries}${cause}. The answer is kept here; copy it and tell the agent yourself.`,
          }
    case 'too_late':
      return {
        title: 'The answer came too late',
        text: `The agent had stopped waiting${cause}. The answer is kept here; the agent acts as if nobody had answered.`,
      }
    case 'blocked':
      return {
        title: 'The hub may not call this agent',
        text: `The answer is kept here. ${why(d) ?? 'Its address is not on this machine. Start the hub with -callback-allow to allow it'}.`,
      }
    default:
      return undefined
  }
}

/** The hub's own reason for not dialling, without what the title says already. */
function why(d: Delivery): string | undefined {
  const text = d.lastError?.replace('the hub may not dial this address: ', '')
  return text && text.charAt(0).toUpperCase() + text.slice(1)
}

/** What the agent was told at the end nobody here chose. */
export function toldOf(r: Request): string | undefined {
  const { status, question } = r
  if (status.status !== 'timeout' && status.status !== 'error') return undefined
  if (status.outcome === '__withdrawn__') return 'Nothing: it took the request back itself.'
  if (status.response?.guidance) return status.response.guidance
  const nobody = status.status === 'timeout' ? 'nobody answered in time' : 'the request was cancelled'
  return question.type === 'permission'
    ? `That ${nobody}, and so it may not go on: nothing ever approves by itself.`
    : `That ${nobody}. It got no answer.`
}

/** The answer itself as text, for the card and to be copied. */
export function answerText(r: Request): string {
  const answer = r.sending?.answer ?? r.status.response
  if (!answer) return ''
  if (answer.response !== undefined) return answer.response
  if (answer.choice !== undefined) return answer.choice
  if (answer.answers) {
    const words = (v: unknown) => (Array.isArray(v) ? v.join(', ') : String(v))
    return (r.question.questions ?? [])
      .map((q) => `${q.header ?? q.question}: ${words(answer.answers?.[q.id] ?? '')}`)
      .join('\n')
  }
  const word = answer.permission ? 'Approved' : 'Denied'
  return answer.reason ? `${word}: ${answer.reason}` : word
}

export const kindNames: Record<Kind, string> = {
  permission: 'Permission',
  question: 'Question',
  choice: 'Choice',
}

export const riskNames: Record<Risk, string> = {
  low: 'Low risk',
  medium: 'Medium risk',
  high: 'High risk',
  critical: 'Critical risk',
}

/** Whether a decision must be held, not tapped. */
export const risky = (q: HumanInTheLoop): boolean => q.risk === 'high' || q.risk === 'critical'

/** Whether a request wants an answer, or only tells. */
export const wantsAnswer = (q: HumanInTheLoop): boolean => q.requiresResponse !== false

export { lost }
