import type { AutomaticAnswer, HitlRequest } from '../../lib/api/schema'
import { toRequest, type Request } from '../../lib/stream/requests'
import type { Answer, Event, Status } from '../../lib/api/types'
import type { Tab } from './view'

const states: Record<Exclude<Tab, 'pending' | 'done' | 'automatic'>, Status['status']> = {
  decided: 'responded',
  expired: 'timeout',
  cancelled: 'error',
}

/** Converts an entry of the hub's request list. The result has only the fields that a row shows. */
export function settledRequest(h: HitlRequest): Request {
  const answer: Answer = {
    respondedAt: h.decided_at ?? 0,
    ...(h.type === 'permission' && h.outcome && { permission: h.outcome === 'approve' }),
    ...(h.type === 'choice' && h.status === 'decided' && h.outcome && { choice: h.outcome }),
    ...(h.response !== undefined && { response: h.response }),
    ...(h.answers && { answers: h.answers }),
  }
  const status: Status = {
    status: h.status === 'pending' ? 'pending' : h.outcome === '__no_quorum__' ? 'error' : states[h.status],
    revision: h.revision,
    response: answer,
    requiredApprovals: h.required_approvals,
    votes: h.votes,
    ...(h.decided_at && { respondedAt: h.decided_at }),
    ...(h.outcome && { outcome: h.outcome }),
    ...(h.source && { source: h.source }),
    ...(h.risk && { risk: h.risk }),
    ...(h.recipients && { recipients: h.recipients, awaiting: h.awaiting }),
    ...(h.decided_by && { respondedBy: { name: h.decided_by, verified: false } }),
    ...reasonOf(h),
    ...(h.delivery && { delivery: { state: h.delivery, attempts: 0 } }),
  }
  const event: Event = {
    id: h.request_id,
    source_app: h.agent,
    session_id: h.session_id,
    hook_event_type: '',
    payload: {},
    timestamp: h.created_at,
    humanInTheLoop: {
      type: h.type,
      question: h.prompt,
      ...(h.tool_call && { toolCall: h.tool_call }),
      ...(h.risk && { risk: h.risk }),
    } as Event['humanInTheLoop'],
    humanInTheLoopStatus: status,
  }
  return toRequest(event) as Request
}

/** Converts an answer of a rule. */
export const automaticRequest = (a: AutomaticAnswer): Request =>
  settledRequest({
    request_id: a.event,
    status: 'decided',
    type: 'permission',
    prompt: a.title || a.tool,
    choices: [],
    agent: a.source_app,
    session_id: a.session_id,
    created_at: a.at,
    decided_at: a.at,
    revision: 1,
    required_approvals: 1,
    awaiting: [],
    votes: [],
    waiting_on_me: false,
    outcome: a.then === 'allow' ? 'approve' : 'deny',
    source: 'rule',
    ...(a.risk && { risk: a.risk }),
    ...(a.author && { decided_by: a.author }),
  })

const reasonOf = (h: HitlRequest) => {
  const reason = h.cancellation_reason ?? h.reason
  return reason ? { reason } : {}
}
