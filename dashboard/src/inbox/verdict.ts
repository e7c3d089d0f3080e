import { held, type Request } from '../requests'
import type { HumanInTheLoop, Kind, Risk } from '../types'

export type Tone = 'wait' | 'ok' | 'no' | 'fail' | 'plain'

/** How a request stands, in one word. */
export interface Verdict {
  word: string
  tone: Tone
  icon: 'waiting' | 'check' | 'x' | 'clock' | 'stop' | 'reply'
}

const ends = new Map<string, Verdict>(
  Object.entries({
    approve: { word: 'Approved', tone: 'ok', icon: 'check' },
    deny: { word: 'Denied', tone: 'no', icon: 'x' },
    answered: { word: 'Answered', tone: 'ok', icon: 'reply' },
    __timeout__: { word: 'No answer', tone: 'plain', icon: 'clock' },
    __cancelled__: { word: 'Cancelled', tone: 'plain', icon: 'stop' },
    __withdrawn__: { word: 'Withdrawn by the agent', tone: 'plain', icon: 'stop' },
    __no_quorum__: { word: 'No majority', tone: 'plain', icon: 'stop' },
  } satisfies Record<string, Verdict>),
)

/** Ends that came from where the agent runs: nobody here chose them. */
const elsewhere: Record<string, Verdict> = {
  agent: { word: 'Settled at the agent', tone: 'plain', icon: 'stop' },
  terminal: { word: 'Answered in the terminal', tone: 'plain', icon: 'reply' },
  orphaned: { word: 'The agent is gone', tone: 'plain', icon: 'stop' },
  session_end: { word: 'The session ended', tone: 'plain', icon: 'stop' },
}

/** How it ended where the agent runs; undefined when it did not end there. */
function endedElsewhere({ status }: Request): Verdict | undefined {
  if (status.status !== 'error' || status.outcome !== '__cancelled__') return undefined
  const there = status.source === 'agent' && status.reason?.startsWith('answered in the terminal')
  const how = there ? 'terminal' : (status.source ?? '')
  return Object.hasOwn(elsewhere, how) ? elsewhere[how] : undefined
}

export function verdictOf(r: Request): Verdict {
  const { status, sending } = r
  const gone = sending ? undefined : endedElsewhere(r)
  if (gone) return gone
  if (sending?.cancel !== undefined) return { word: 'Cancelled', tone: 'plain', icon: 'stop' }
  const answer = sending?.answer ?? status.response
  const outcome = sending ? undefined : (status.held?.outcome ?? status.outcome)
  if (held(r) && r.question.type === 'choice') return { word: String(outcome), tone: 'ok', icon: 'check' }
  if (held(r)) return ends.get(outcome ?? '') ?? { word: String(outcome), tone: 'ok', icon: 'check' }
  if (!sending && status.status === 'pending') return { word: 'Needs you', tone: 'wait', icon: 'waiting' }
  // What was chosen goes by its own name, were it "approve".
  if (answer?.choice !== undefined && status.status !== 'timeout' && status.status !== 'error')
    return { word: answer.choice, tone: 'ok', icon: 'check' }
  const end = ends.get(outcome ?? '')
  if (end) return end
  if (answer?.permission !== undefined && (sending || status.status === 'responded')) {
    const word = answer.permission ? 'approve' : 'deny'
    return ends.get(word) as Verdict
  }
  if (status.status === 'timeout') return ends.get('__timeout__') as Verdict
  if (status.status === 'error') return ends.get('__cancelled__') as Verdict
  return ends.get('answered') as Verdict
}

/** Who brought it to its end, and how sure that is. */
export function byWhom(r: Request): string {
  const { status } = r
  if (r.sending || (r.mine && status.outcome !== '__no_quorum__')) return 'you'
  switch (status.source) {
    case 'rule':
      return 'a rule'
    case 'timeout':
      return 'the deadline'
    case 'quorum':
      return status.outcome === '__no_quorum__' ? 'the votes' : (status.respondedBy?.name ?? 'the votes')
    case 'agent':
      return endedElsewhere(r) ? 'somebody at the agent' : 'the agent'
    case 'session_end':
      return 'the end of the session'
    case 'orphaned':
      return 'the agent going away'
    default:
      return (status.held?.by ?? status.respondedBy)?.name ?? 'somebody'
  }
}

/** Why this page's answer is not the one that counts; undefined when it does, or there was none. */
export function beatenBy(r: Request): string | undefined {
  if (r.problem?.code === 'expired') return 'It was over before your answer came. This is how it ended.'
  if (r.problem?.code !== 'decided') return undefined
  const who = r.mine ? 'It' : byWhom(r)
  return `${who} was faster: your answer was not taken. This is the one that counts.`
}

/** What the agent was told at the end nobody here chose. */
export function toldOf(r: Request): string | undefined {
  const { status, question } = r
  if (status.status !== 'timeout' && status.status !== 'error') return undefined
  if (status.outcome === '__withdrawn__') return 'Nothing: it took the request back itself.'
  if (endedElsewhere(r))
    return status.source === 'agent'
      ? 'Nothing: it goes on with what was decided there.'
      : 'Nothing: nobody is there any more to hear it.'
  if (status.response?.guidance) return status.response.guidance
  if (status.outcome === '__no_quorum__') return 'That people voted and did not agree: nothing may run.'
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

/** A newer hub may know kinds this page does not: they keep their own name. */
export const kindName = (kind: string): string => (isKnown(kind) ? kindNames[kind] : kind)

export const isKnown = (kind: string): kind is Kind => Object.hasOwn(kindNames, kind)

export const riskNames: Record<Risk, string> = {
  low: 'Low risk',
  medium: 'Medium risk',
  high: 'High risk',
  critical: 'Critical risk',
}

/** Whether a request wants an answer, or only tells. */
export const wantsAnswer = (q: HumanInTheLoop): boolean => q.requiresResponse !== false

/** Why it was called off, or denied: for the row. */
export function whyOf({ status, sending }: Request): string {
  if (sending) return sending.cancel ?? sending.answer?.reason ?? ''
  if (status.status === 'pending') return ''
  return status.reason ?? status.response?.reason ?? ''
}
