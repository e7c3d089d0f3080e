import { formatDuration, formatTimeLeft } from '../clock'
import { inUndoWindow, isUndelivered, type Request } from '../requests'
import type { Delivery, Event, Execution } from '../types'
import { inboxText } from './text'

const copy = inboxText.delivery

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
  /** What failed, what is kept and what to do; undefined without a failure. */
  problem?: { title: string; text: string }
}

/**
 * The delivery of an answer and the execution of its call; undefined if nothing is delivered.
 * next: the session's first event after the answer, if the page holds one.
 */
export function deliveryProgress(r: Request, now: number, next?: Event): DeliveryProgress | undefined {
  const { status } = r
  if (r.submission) {
    return { steps: [step('busy', copy.saving), step('open', copy.sent), step('open', copy.delivered)] }
  }
  if (inUndoWindow(r)) {
    return { steps: [step('done', copy.saved), step('open', copy.sent), step('open', copy.delivered)] }
  }
  if (status.status === 'pending' || status.outcome === '__withdrawn__' || status.source === 'orphaned')
    return undefined
  const saved = step(
    'done',
    copy.saved,
    r.saveDurationMs === undefined ? undefined : formatDuration(r.saveDurationMs),
  )
  const delivery = status.delivery
  if (!delivery) return undefined
  const way = deliverySteps(delivery, status.respondedAt)
  const after = executionStep(r, next)
  const steps = after ? [saved, ...way, after] : [saved, ...way]
  return { steps, problem: delivery.handledAt ? undefined : deliveryProblem(delivery, now) }
}

/** The last step, taken from the agent's later events. */
function executionStep(r: Request, next: Event | undefined): Step | undefined {
  const { status, event, question } = r
  const ran = status.execution
  if (ran && ranWithoutApproval(r)) return { ...step('failed', copy.ranAnyway), event: ran.eventId }
  if (ran) {
    const took = ran.durationMs === undefined ? undefined : formatDuration(ran.durationMs)
    const state = ran.state === 'succeeded' ? 'done' : 'failed'
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

function deliverySteps(d: Delivery, respondedAt: number | undefined): [Step, Step] {
  const took =
    d.deliveredAt !== undefined && respondedAt !== undefined
      ? formatDuration(d.deliveredAt - respondedAt)
      : undefined
  const sent = step('done', copy.sent)
  switch (d.state) {
    case 'acked':
      return [sent, step('done', copy.delivered, took)]
    case 'pulled':
      return [step('done', copy.fetched), step('done', copy.delivered, took)]
    case 'delivered':
      return d.confirmed === 'close'
        ? [sent, step('done', copy.received, took)]
        : [sent, step('open', copy.keptOpen)]
    case 'none':
      return [step('busy', copy.waitingForAgent), step('open', copy.delivered)]
    case 'queued':
      return [step('busy', copy.queued), step('open', copy.delivered)]
    case 'sending':
      return [step('busy', copy.sending), step('open', copy.delivered)]
    case 'unconfirmed':
      return [sent, step('failed', copy.unconfirmed)]
    case 'too_late':
      return [sent, step('failed', copy.tooLate)]
    case 'refused':
      return [step('failed', copy.refused), step('open', copy.delivered)]
    case 'unreachable':
      return [step(d.nextAttemptAt ? 'busy' : 'failed', copy.unreachable), step('open', copy.delivered)]
    case 'blocked':
      return [step('failed', copy.blocked), step('open', copy.delivered)]
  }
}

const step = (state: StepState, label: string, took?: string): Step => ({ state, label, took })

function deliveryProblem(d: Delivery, now: number): DeliveryProgress['problem'] {
  const cause = d.lastError ? ` (${d.lastError})` : ''
  const attempts = copy.attempts(d.attempts)
  const { problems } = copy
  switch (d.state) {
    case 'unconfirmed':
      return { title: problems.unconfirmed.title, text: problems.unconfirmed.text(cause) }
    case 'refused':
      return { title: problems.refused.title, text: problems.refused.text(cause) }
    case 'unreachable':
      return d.nextAttemptAt !== undefined
        ? {
            title: problems.retrying.title,
            text: problems.retrying.text(cause, formatTimeLeft(d.nextAttemptAt - now), attempts),
          }
        : { title: problems.unreachable.title, text: problems.unreachable.text(cause, attempts) }
    case 'too_late':
      return { title: problems.tooLate.title, text: problems.tooLate.text(cause) }
    case 'blocked':
      return {
        title: problems.blocked.title,
        text: problems.blocked.text(blockReason(d) ?? problems.blocked.notLocal),
      }
    default:
      return undefined
  }
}

/** The hub's reason for not dialing, without the part that the title repeats. */
function blockReason(d: Delivery): string | undefined {
  const text = d.lastError?.replace('the hub may not dial this address: ', '')
  return text && text.charAt(0).toUpperCase() + text.slice(1)
}
