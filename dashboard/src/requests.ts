import { arrived } from './events'
import type { Delivery, DeliveryState, Event, HumanInTheLoop, Problem, Response, Status } from './types'

/** A request to a person, with what this page knows of it beside the hub. */
export interface Request {
  readonly id: number
  readonly event: Event
  readonly question: HumanInTheLoop
  readonly status: Status
  /** When it was asked, the hub's clock. */
  readonly asked: number
  /** An answer of this page on its way to the hub: shown as if it had been taken. */
  readonly sending?: Sending
  /** Why the hub did not take this page's last answer. */
  readonly problem?: Problem
  /** Whether the answer the hub holds is this page's. */
  readonly mine: boolean
  /** How long the hub took to take this page's answer, ms. */
  readonly savedIn?: number
}

export interface Sending {
  readonly since: number
  readonly answer?: Response
  readonly cancel?: string
}

/** The request an event makes, undefined when it asks nothing. */
export function requestOf(event: Event, before?: Request): Request | undefined {
  const question = event.humanInTheLoop
  if (!question) return undefined
  const status = event.humanInTheLoopStatus ?? { status: 'pending' }
  return {
    id: event.id,
    event,
    question,
    status: before && newer(before.status, status) ? before.status : status,
    asked: arrived(event),
    sending: before?.sending,
    problem: before?.problem,
    mine: before?.mine ?? false,
    savedIn: before?.savedIn,
  }
}

/** Whether status a is newer than b. */
export const newer = (a: Status, b: Status): boolean => (a.revision ?? 0) > (b.revision ?? 0)

/** Whether a person can still decide it here. */
export const open = (r: Request): boolean => r.status.status === 'pending' && !r.sending

const failed: ReadonlySet<DeliveryState> = new Set([
  'unconfirmed',
  'refused',
  'unreachable',
  'too_late',
  'blocked',
])

/** Whether an answer did not, or not surely, reach the agent. */
export const lost = (d: Delivery | undefined): boolean => d !== undefined && failed.has(d.state)

/** Whether a person's answer did not reach its agent: the person should know. */
export const undelivered = (r: Request): boolean => r.status.status === 'responded' && lost(r.status.delivery)

export interface Lists {
  undelivered: Request[]
  needs: Request[]
  settled: Request[]
}

const SETTLED_SHOWN = 20
const SETTLED_FOR = 3_600_000

/**
 * Sorts requests into the inbox's groups: in order of arrival, the settled ones
 * newest first.
 */
export function lists(all: Iterable<Request>, now: number, hidden: ReadonlySet<number>): Lists {
  const out: Lists = { undelivered: [], needs: [], settled: [] }
  for (const r of all) {
    if (open(r)) out.needs.push(r)
    else if (undelivered(r) && !hidden.has(r.id)) out.undelivered.push(r)
    else if (now - settledAt(r) < SETTLED_FOR) out.settled.push(r)
  }
  out.needs.sort((a, b) => a.id - b.id)
  out.undelivered.sort((a, b) => a.id - b.id)
  out.settled.sort((a, b) => settledAt(b) - settledAt(a) || b.id - a.id)
  out.settled.length = Math.min(out.settled.length, SETTLED_SHOWN)
  return out
}

/** When it came to its end, the hub's clock; for an answer on its way, when it was given. */
export function settledAt(r: Request): number {
  return r.sending?.since ?? r.status.respondedAt ?? r.status.response?.respondedAt ?? r.asked
}
