import { formatDuration, formatTimeLeft } from '../clock'
import { inUndoWindow, isUndelivered, type Request } from '../requests'
import type { Delivery, Event, Execution } from '../types'

export type StepState = 'done' | 'busy' | 'open' | 'failed'

/** One of the ticks: saved, sent, the agent has it, it ran. */
export interface Step {
  state: StepState
  label: string
  /** How long it took, when known. */
  took?: string
  /** The event that shows it. */
  event?: number
}

export interface DeliveryProgress {
  steps: Step[]
  /** What went wrong, what is kept and what to do; undefined when nothing did. */
  problem?: { title: string; text: string }
}

/**
 * How far an answer has got on its way to the agent, and what became of the call.
 * next is the session's first event after the answer, where the page knows one.
 */
export function deliveryProgress(r: Request, now: number, next?: Event): DeliveryProgress | undefined {
  const { status } = r
  if (r.submission) {
    return { steps: [step('busy', 'saving'), step('open', 'sent'), step('open', 'agent has it')] }
  }
  if (inUndoWindow(r)) {
    return { steps: [step('done', 'saved'), step('open', 'sent'), step('open', 'agent has it')] }
  }
  if (status.status === 'pending' || status.outcome === '__withdrawn__' || status.source === 'orphaned')
    return undefined
  const saved = step('done', 'saved', r.saveDurationMs === undefined ? undefined : formatDuration(r.saveDurationMs))
  const delivery = status.delivery
  if (!delivery) return undefined
  const way = deliverySteps(delivery, status.respondedAt)
  const after = executionStep(r, next)
  const steps = after ? [saved, ...way, after] : [saved, ...way]
  return { steps, problem: delivery.handledAt ? undefined : deliveryProblem(delivery, now) }
}

/** What the agent did with the answer, as its later events tell. */
function executionStep(r: Request, next: Event | undefined): Step | undefined {
  const { status, event, question } = r
  const ran = status.execution
  if (ran && ranWithoutApproval(r)) return { ...step('failed', 'ran anyway'), event: ran.eventId }
  if (ran) {
    const took = ran.durationMs === undefined ? undefined : formatDuration(ran.durationMs)
    const state = ran.state === 'succeeded' ? 'done' : 'failed'
    return { ...step(state, executionLabels[ran.state], took), event: ran.eventId }
  }
  if (next) return { ...step('done', 'moved on'), event: next.id }
  const calls = (event.tool_use_id ?? question.toolCall?.id) !== undefined
  return calls && status.outcome === 'approve' && !isUndelivered(status.delivery) ? step('open', 'runs') : undefined
}

const executionLabels: Record<Execution['state'], string> = {
  succeeded: 'ran',
  failed: 'ran and failed',
  interrupted: 'interrupted',
}

/** A call that ran although nobody had allowed it: someone must look. */
export function ranWithoutApproval({ status, question }: Request): string | undefined {
  if (!status.execution || question.type !== 'permission') return undefined
  if (status.status === 'pending') return 'It ran before anybody answered'
  if (status.outcome === 'approve') return undefined
  return status.outcome === 'deny' ? 'It ran although it was denied' : 'It ran although nobody allowed it'
}

function deliverySteps(d: Delivery, respondedAt: number | undefined): [Step, Step] {
  const took =
    d.deliveredAt !== undefined && respondedAt !== undefined ? formatDuration(d.deliveredAt - respondedAt) : undefined
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

function deliveryProblem(d: Delivery, now: number): DeliveryProgress['problem'] {
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
            text: `Nobody takes the call${cause}. The answer is kept; next try in ${formatTimeLeft(d.nextAttemptAt - now)}, after ${tries}.`,
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
        text: `The answer is kept here. ${blockReason(d) ?? 'Its address is not on this machine. Start the hub with -callback-allow to allow it'}.`,
      }
    default:
      return undefined
  }
}

/** The hub's own reason for not dialling, without what the title says already. */
function blockReason(d: Delivery): string | undefined {
  const text = d.lastError?.replace('the hub may not dial this address: ', '')
  return text && text.charAt(0).toUpperCase() + text.slice(1)
}
