import { inUndoWindow, type Request } from '../requests'
import type { HumanInTheLoop, Kind, Risk } from '../types'

export type Tone = 'wait' | 'ok' | 'no' | 'fail' | 'plain'

/** How a request stands, in one word. */
export interface Outcome {
  label: string
  tone: Tone
  icon: 'waiting' | 'check' | 'x' | 'clock' | 'stop' | 'reply'
}

const outcomes = new Map<string, Outcome>(
  Object.entries({
    approve: { label: 'Approved', tone: 'ok', icon: 'check' },
    deny: { label: 'Denied', tone: 'no', icon: 'x' },
    answered: { label: 'Answered', tone: 'ok', icon: 'reply' },
    __timeout__: { label: 'No answer', tone: 'plain', icon: 'clock' },
    __cancelled__: { label: 'Cancelled', tone: 'plain', icon: 'stop' },
    __withdrawn__: { label: 'Withdrawn by the agent', tone: 'plain', icon: 'stop' },
    __no_quorum__: { label: 'No majority', tone: 'plain', icon: 'stop' },
  } satisfies Record<string, Outcome>),
)

/** Ends that came from where the agent runs: nobody here chose them. */
const agentSideOutcomes: Record<string, Outcome> = {
  agent: { label: 'Settled at the agent', tone: 'plain', icon: 'stop' },
  terminal: { label: 'Answered in the terminal', tone: 'plain', icon: 'reply' },
  orphaned: { label: 'The agent is gone', tone: 'plain', icon: 'stop' },
  session_end: { label: 'The session ended', tone: 'plain', icon: 'stop' },
}

/** How it ended where the agent runs; undefined when it did not end there. */
function agentSideOutcome({ status }: Request): Outcome | undefined {
  if (status.status !== 'error' || status.outcome !== '__cancelled__') return undefined
  const there = status.source === 'agent' && status.reason?.startsWith('answered in the terminal')
  const how = there ? 'terminal' : (status.source ?? '')
  return Object.hasOwn(agentSideOutcomes, how) ? agentSideOutcomes[how] : undefined
}

export function requestOutcome(r: Request): Outcome {
  const { status, submission } = r
  const gone = submission ? undefined : agentSideOutcome(r)
  if (gone) return gone
  if (submission?.cancel !== undefined) return { label: 'Cancelled', tone: 'plain', icon: 'stop' }
  const answer = submission?.answer ?? status.response
  const outcome = submission ? undefined : (status.held?.outcome ?? status.outcome)
  if (inUndoWindow(r) && r.question.type === 'choice') return { label: String(outcome), tone: 'ok', icon: 'check' }
  if (inUndoWindow(r)) return outcomes.get(outcome ?? '') ?? { label: String(outcome), tone: 'ok', icon: 'check' }
  if (!submission && status.status === 'pending') return { label: 'Needs you', tone: 'wait', icon: 'waiting' }
  // What was chosen goes by its own name, were it "approve".
  if (answer?.choice !== undefined && status.status !== 'timeout' && status.status !== 'error')
    return { label: answer.choice, tone: 'ok', icon: 'check' }
  const end = outcomes.get(outcome ?? '')
  if (end) return end
  if (answer?.permission !== undefined && (submission || status.status === 'responded')) {
    const word = answer.permission ? 'approve' : 'deny'
    return outcomes.get(word) as Outcome
  }
  if (status.status === 'timeout') return outcomes.get('__timeout__') as Outcome
  if (status.status === 'error') return outcomes.get('__cancelled__') as Outcome
  return outcomes.get('answered') as Outcome
}

/** Who brought it to its end, and how sure that is. */
export function resolvedBy(r: Request): string {
  const { status } = r
  if (r.submission || (r.mine && status.outcome !== '__no_quorum__')) return 'you'
  switch (status.source) {
    case 'rule':
      return 'a rule'
    case 'timeout':
      return 'the deadline'
    case 'quorum':
      return status.outcome === '__no_quorum__' ? 'the votes' : (status.respondedBy?.name ?? 'the votes')
    case 'agent':
      return agentSideOutcome(r) ? 'somebody at the agent' : 'the agent'
    case 'session_end':
      return 'the end of the session'
    case 'orphaned':
      return 'the agent going away'
    default:
      return (status.held?.by ?? status.respondedBy)?.name ?? 'somebody'
  }
}

/** Why this page's answer is not the one that counts; undefined when it does, or there was none. */
export function supersededBy(r: Request): string | undefined {
  if (r.problem?.code === 'expired') return 'It was over before your answer came. This is how it ended.'
  if (r.problem?.code !== 'decided') return undefined
  const who = r.mine ? 'It' : resolvedBy(r)
  return `${who} was faster: your answer was not taken. This is the one that counts.`
}

/** What the agent was told at the end nobody here chose. */
export function agentMessage(r: Request): string | undefined {
  const { status, question } = r
  if (status.status !== 'timeout' && status.status !== 'error') return undefined
  if (status.outcome === '__withdrawn__') return 'Nothing: it took the request back itself.'
  if (agentSideOutcome(r))
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
  const answer = r.submission?.answer ?? r.status.response
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
export const kindName = (kind: string): string => (isKnownKind(kind) ? kindNames[kind] : kind)

export const isKnownKind = (kind: string): kind is Kind => Object.hasOwn(kindNames, kind)

export const riskNames: Record<Risk, string> = {
  low: 'Low risk',
  medium: 'Medium risk',
  high: 'High risk',
  critical: 'Critical risk',
}

/** Whether a request wants an answer, or only tells. */
export const requiresAnswer = (q: HumanInTheLoop): boolean => q.requiresResponse !== false

/** Why it was called off, or denied: for the row. */
export function resolutionReason({ status, submission }: Request): string {
  if (submission) return submission.cancel ?? submission.answer?.reason ?? ''
  if (status.status === 'pending') return ''
  return status.reason ?? status.response?.reason ?? ''
}
