import { formatDuration } from './clock'
import { inUndoWindow, isAnsweredByPeople, isUndelivered, type Request } from '../stream/requests'
import type { Delivery, Event, Execution } from '../api/types'
import { requestText } from './text'

const copy = requestText.delivery

/** The reason of a request whose hook had reached its own deadline, as the hub stores it. */
const OWN_DEADLINE = 'the agent stopped waiting at its own deadline'

export type StepState = 'done' | 'busy' | 'open' | 'failed'

/** One delivery step: saved, sent, delivered, ran. */
export interface Step {
  state: StepState
  label: string
  /** Its duration, if known. */
  took?: string
  /** The id of the event that proves it. */
  event?: number
}

export interface DeliveryProgress {
  steps: Step[]
  /** The title of a failure; undefined without one. deliveryProblemText returns the details. */
  problem?: string
}

/**
 * The delivery of an answer and the execution of its call; undefined if nothing is delivered.
 * next: the session's first event after the answer, if the page holds one.
 */
export function deliveryProgress(r: Request, next?: Event): DeliveryProgress | undefined {
  const { status } = r
  const isAnswer =
    status.status === 'responded' || status.held || (r.submission && r.submission.cancel === undefined)
  const arrived = isAnswer ? copy.delivered : copy.notified
  if (r.submission || inUndoWindow(r)) {
    const first = r.submission ? step('busy', copy.saving) : step('done', copy.saved)
    return { steps: [first, step('open', copy.sent), step('open', arrived)] }
  }
  // Nothing is sent to an agent that has stopped waiting by itself.
  const isSilent =
    ['orphaned', 'superseded', 'dismissed'].includes(status.source ?? '') || status.reason === OWN_DEADLINE
  if (status.status === 'pending' || status.outcome === '__withdrawn__' || isSilent) return undefined
  const saved = step(
    'done',
    copy.saved,
    r.saveDurationMs === undefined ? undefined : formatDuration(r.saveDurationMs),
  )
  const delivery = status.delivery
  if (!delivery) return undefined
  // No work of a person is lost if a client that had gone gets no timeout.
  const isNotPickedUp = isUndelivered(delivery) && delivery.state !== 'blocked' && !isAnsweredByPeople(r)
  const way = isNotPickedUp
    ? [step('open', copy.notPickedUp)]
    : deliverySteps(delivery, arrived, status.respondedAt)
  const after = executionStep(r, next)
  const steps = after ? [saved, ...way, after] : [saved, ...way]
  return { steps, problem: delivery.handledAt || isNotPickedUp ? undefined : problemTitle(delivery) }
}

/** The last step, taken from the agent's later events. */
function executionStep(r: Request, next: Event | undefined): Step | undefined {
  const { status, event, question } = r
  const ran = status.execution
  if (ran && ranWithoutApproval(r)) return { ...step('failed', copy.ranAnyway), event: ran.eventId }
  if (ran) {
    const took = ran.durationMs === undefined ? undefined : formatDuration(ran.durationMs)
    const state = ran.state === 'succeeded' ? 'done' : ran.state === 'executing' ? 'busy' : 'failed'
    return { ...step(state, executionLabels[ran.state], took), event: ran.eventId }
  }
  if (next) return { ...step('done', copy.continued), event: next.id }
  const calls = (event.tool_use_id ?? question.toolCall?.id) !== undefined
  return calls && status.outcome === 'approve' && !isUndelivered(status.delivery)
    ? step('open', copy.runs)
    : undefined
}

const executionLabels: Record<Execution['state'], string> = copy.ran

/** Why the execution of a call was not approved; undefined if it was, or if it did not run. */
export function ranWithoutApproval({ status, question }: Request): string | undefined {
  if (!status.execution || question.type !== 'permission') return undefined
  if (status.status === 'pending') return copy.ranBeforeAnswer
  if (status.outcome === 'approve') return undefined
  return status.outcome === 'deny' ? copy.ranDespiteDenial : copy.ranUnapproved
}

function deliverySteps(d: Delivery, arrived: string, respondedAt: number | undefined): [Step, Step] {
  const took =
    d.deliveredAt !== undefined && respondedAt !== undefined
      ? formatDuration(d.deliveredAt - respondedAt)
      : undefined
  const sent = step('done', copy.sent)
  switch (d.state) {
    case 'acked':
      return [sent, step('done', arrived, took)]
    case 'pulled':
      return [step('done', copy.fetched), step('done', arrived, took)]
    case 'fetched':
      return [step('done', copy.fetchedUnverified), step('open', arrived)]
    case 'delivered':
      return d.confirmed === 'close'
        ? [sent, step('done', copy.received, took)]
        : [sent, step('open', copy.keptOpen)]
    case 'none':
      return [step('busy', copy.waitingForAgent), step('open', arrived)]
    case 'queued':
      return [step('busy', copy.queued), step('open', arrived)]
    case 'sending':
      return [step('busy', copy.sending), step('open', arrived)]
    case 'unconfirmed':
      return [sent, step('failed', copy.unconfirmed)]
    case 'too_late':
      return [sent, step('failed', copy.tooLate)]
    case 'refused':
      return [step(d.nextAttemptAt ? 'busy' : 'failed', copy.refused), step('open', arrived)]
    case 'unreachable':
      return [step(d.nextAttemptAt ? 'busy' : 'failed', copy.unreachable), step('open', arrived)]
    case 'blocked':
      return [step('failed', copy.blocked), step('open', arrived)]
  }
}

const step = (state: StepState, label: string, took?: string): Step => ({ state, label, took })

const problems: Partial<Record<string, string>> = copy.problems

const problemTitle = ({ state, nextAttemptAt }: Delivery): string | undefined =>
  state === 'unreachable' && nextAttemptAt !== undefined ? copy.retrying : problems[state]
