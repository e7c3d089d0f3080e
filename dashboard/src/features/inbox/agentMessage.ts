import type { Request } from '../../lib/stream/requests'
import { lazyInboxText } from './lazyText'
import { agentSideOutcome } from '../../lib/format/outcome'

const copy = lazyInboxText.outcome.messages

/** The message the agent received when a request ended without an answer. */
export function agentMessage(r: Request): string | undefined {
  const { status, question } = r
  if (status.status !== 'timeout' && status.status !== 'error') return undefined
  if (status.outcome === '__withdrawn__') return copy.withdrawn
  if (status.source === 'superseded') return copy.superseded
  if (status.source === 'dismissed') return copy.dismissed
  if (agentSideOutcome(r)) return status.source === 'agent' ? copy.decidedThere : copy.disconnected
  if (status.response?.guidance) return status.response.guidance
  if (status.outcome === '__no_quorum__') return copy.noQuorum
  const what = status.status === 'timeout' ? copy.timeout : copy.canceled
  return question.type === 'permission' ? copy.notApproved(what) : copy.noAnswer(what)
}
