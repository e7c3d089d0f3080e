import { inUndoWindow, type Request } from '../stream/requests'
import type { HumanInTheLoop, Kind } from '../api/types'
import { requestText, kindNames } from './text'

const copy = requestText.outcome

export type Tone = 'wait' | 'ok' | 'no' | 'fail' | 'plain'

/** The state or outcome of a request as a label, a tone and an icon. */
export interface Outcome {
  label: string
  tone: Tone
  icon: 'waiting' | 'check' | 'x' | 'clock' | 'stop' | 'reply'
}

const outcomes = new Map<string, Outcome>(
  Object.entries({
    approve: { label: copy.outcomes.approved, tone: 'ok', icon: 'check' },
    deny: { label: copy.outcomes.denied, tone: 'no', icon: 'x' },
    answered: { label: copy.outcomes.answered, tone: 'ok', icon: 'reply' },
    __timeout__: { label: copy.outcomes.noAnswer, tone: 'plain', icon: 'clock' },
    __cancelled__: { label: copy.outcomes.canceled, tone: 'plain', icon: 'stop' },
    __withdrawn__: { label: copy.outcomes.withdrawn, tone: 'plain', icon: 'stop' },
    __no_quorum__: { label: copy.outcomes.noMajority, tone: 'plain', icon: 'stop' },
  } satisfies Record<string, Outcome>),
)

/** Outcomes decided where the agent runs, not on the hub; by status.source. */
const agentSideOutcomes: Record<string, Outcome> = {
  agent: { label: copy.outcomes.atAgent, tone: 'plain', icon: 'stop' },
  terminal: { label: copy.outcomes.terminal, tone: 'plain', icon: 'reply' },
  dismissed: { label: copy.outcomes.dismissed, tone: 'plain', icon: 'x' },
  orphaned: { label: copy.outcomes.agentGone, tone: 'plain', icon: 'stop' },
  session_end: { label: copy.outcomes.sessionEnded, tone: 'plain', icon: 'stop' },
  superseded: { label: copy.outcomes.superseded, tone: 'plain', icon: 'stop' },
}

/** The outcome if it was decided where the agent runs; undefined otherwise. */
export function agentSideOutcome({ status }: Request): Outcome | undefined {
  if (status.status !== 'error' || status.outcome !== '__cancelled__') return undefined
  const there = status.source === 'agent' && status.reason?.startsWith('answered in the terminal')
  const how = there ? 'terminal' : (status.source ?? '')
  return Object.hasOwn(agentSideOutcomes, how) ? agentSideOutcomes[how] : undefined
}

export function requestOutcome(r: Request): Outcome {
  const { status, submission } = r
  const gone = submission ? undefined : agentSideOutcome(r)
  if (gone) return gone
  if (submission?.cancel !== undefined) return { label: copy.outcomes.canceled, tone: 'plain', icon: 'stop' }
  const answer = submission?.answer ?? status.response
  const outcome = submission ? undefined : (status.held?.outcome ?? status.outcome)
  if (inUndoWindow(r) && r.question.type === 'choice')
    return { label: String(outcome), tone: 'ok', icon: 'check' }
  if (inUndoWindow(r))
    return outcomes.get(outcome ?? '') ?? { label: String(outcome), tone: 'ok', icon: 'check' }
  if (!submission && status.status === 'pending')
    return { label: copy.outcomes.pending, tone: 'wait', icon: 'waiting' }
  // A choice is shown under its own name, even if it is called "approve".
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

const sources: Partial<Record<string, string>> = copy.resolvedBy.sources

/** Names the person, rule or event that resolved the request. */
export function resolvedBy(r: Request): string {
  const { source = '', outcome, held, respondedBy } = r.status
  if (r.submission || (r.mine && outcome !== '__no_quorum__')) return copy.resolvedBy.you
  if (source === 'quorum')
    return (outcome === '__no_quorum__' ? undefined : respondedBy?.name) ?? copy.resolvedBy.votes
  if (source === 'agent' && agentSideOutcome(r)) return copy.resolvedBy.sources.dismissed
  return sources[source] ?? (held?.by ?? respondedBy)?.name ?? copy.resolvedBy.unknown
}

/** Why this page's answer was not accepted; undefined if it was, or if there was none. */
export function supersededBy(r: Request): string | undefined {
  if (r.problem?.code === 'expired') return copy.expiredFirst
  if (r.problem?.code !== 'decided') return undefined
  const who = r.mine ? copy.it : resolvedBy(r)
  return copy.supersededBy(who)
}

/** The answer as plain text, for the card and the clipboard. */
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
  const word = answer.permission ? copy.outcomes.approved : copy.outcomes.denied
  return answer.reason ? `${word}: ${answer.reason}` : word
}

/** The label of a kind. An unknown kind, from a newer hub, keeps its wire name. */
export const kindName = (kind: string): string => (isKnownKind(kind) ? kindNames[kind] : kind)

export const isKnownKind = (kind: string): kind is Kind => Object.hasOwn(kindNames, kind)

/** Whether a request requires an answer, or is only informational. */
export const requiresAnswer = (q: HumanInTheLoop): boolean => q.requiresResponse !== false

/** The reason of a cancellation or an answer; empty if there is none. */
export function resolutionReason({ status, submission }: Request): string {
  if (submission) return submission.cancel ?? submission.answer?.reason ?? ''
  if (status.status === 'pending') return ''
  return status.reason ?? status.response?.reason ?? ''
}
