import { receivedAt } from './eventView'
import type {
  Delivery,
  DeliveryState,
  Event,
  HumanInTheLoop,
  Problem,
  Response,
  Risk,
  Status,
  Vote,
} from './types'

/** A request to a person, with what this page knows of it beside the hub. */
export interface Request {
  readonly id: number
  readonly event: Event
  readonly question: HumanInTheLoop
  readonly status: Status
  /** When it was asked, the hub's clock. */
  readonly askedAt: number
  /** An answer of this page on its way to the hub: shown as if it had been taken. */
  readonly submission?: PendingSubmission
  /** Why the hub did not take this page's last answer. */
  readonly problem?: Problem
  /** Whether the answer the hub holds is this page's. */
  readonly mine: boolean
  /** This page is taking its answer back, or has the hub try again: buttons wait. */
  readonly busy?: boolean
  /** How long the hub took to take this page's answer, ms. */
  readonly saveDurationMs?: number
}

export interface PendingSubmission {
  readonly since: number
  readonly answer?: Response
  readonly cancel?: string
}

/** The request an event makes, undefined when it asks nothing. */
export function toRequest(event: Event, before?: Request): Request | undefined {
  const question = event.humanInTheLoop
  if (!question) return undefined
  const status = event.humanInTheLoopStatus ?? { status: 'pending' }
  return {
    id: event.id,
    event,
    question,
    status: before && isNewer(before.status, status) ? before.status : status,
    askedAt: receivedAt(event),
    submission: before?.submission,
    problem: before?.problem,
    mine: before?.mine ?? false,
    busy: before?.busy,
    saveDurationMs: before?.saveDurationMs,
  }
}

/** Whether status a is newer than b. */
export const isNewer = (a: Status, b: Status): boolean => (a.revision ?? 0) > (b.revision ?? 0)

/** Whether it has an answer that can still be taken back. */
export const inUndoWindow = (r: Request): boolean =>
  r.status.status === 'pending' && r.status.held !== undefined && !r.submission

/** Whether a person can still decide it here. */
export const isDecidable = (r: Request): boolean =>
  r.status.status === 'pending' && r.status.held === undefined && !r.submission

/** How risky it is: the hub's estimate; a hub that makes none leaves the agent's own. */
export const riskLevel = (r: Request): Risk | undefined => r.status.risk ?? r.question.risk

/** Whether somebody waits for a person here: not what only tells, nor an agent that is gone. */
export const isWaiting = (r: Request): boolean =>
  r.question.requiresResponse !== false && r.status.waiter !== 'lost'

/** Whether a decision must be held, not tapped. */
export const isHighRisk = (r: Request): boolean => riskLevel(r) === 'high' || riskLevel(r) === 'critical'

const failedStates: ReadonlySet<DeliveryState> = new Set([
  'unconfirmed',
  'refused',
  'unreachable',
  'too_late',
  'blocked',
])

/** Whether an answer did not, or not surely, reach the agent. */
export const isUndelivered = (d: Delivery | undefined): boolean => d !== undefined && failedStates.has(d.state)

/** Whether a person's answer did not reach its agent, and nobody took care of that yet. */
export const hasDeliveryFailure = (r: Request): boolean =>
  r.status.status === 'responded' && isUndelivered(r.status.delivery) && r.status.delivery?.handledAt === undefined

/** Whether several people have to agree on it. */
export const requiresVotes = (r: Request): boolean =>
  (r.status.requiredApprovals ?? r.question.requiredApprovals ?? 1) > 1

/** Whether only certain people may answer it, or several have to. */
export const hasRecipients = (r: Request): boolean => requiresVotes(r) || (r.status.recipients?.length ?? 0) > 0

/** The vote of the person of that name. */
export const findVote = (r: Request, name: string): Vote | undefined =>
  r.status.votes?.find((vote) => vote.user === name)

/** Whether others are waited for, and not the person of that name: they have voted, or were not asked. */
export function awaitsVotes(r: Request, me: string): boolean {
  if (!isDecidable(r) || !hasRecipients(r)) return false
  const asked = r.status.recipients
  return findVote(r, me) !== undefined || (asked !== undefined && !asked.includes(me))
}

export interface Lists {
  undelivered: Request[]
  needs: Request[]
  votes: Request[]
  snoozed: Request[]
  settled: Request[]
  /** What asks the same as an earlier request of its session, by that one's id: no rows of their own. */
  duplicates: ReadonlyMap<number, Request[]>
}

const SETTLED_SHOWN = 20
const SETTLED_FOR = 3_600_000
/** A deadline this near is not put aside. */
export const LAST_MINUTE = 60_000

/** When a request that was put aside comes back; 0: it is not put aside. */
export function snoozedUntil(r: Request, snoozed: ReadonlyMap<number, number>): number {
  const until = snoozed.get(r.id) ?? 0
  return Math.min(until, (r.status.expiresAt ?? Infinity) - LAST_MINUTE)
}

/**
 * Sorts requests into the inbox's groups: in order of arrival, the settled ones
 * newest first. me: the name of whose inbox it is, if the hub knows it.
 */
export function groupRequests(
  all: Iterable<Request>,
  now: number,
  snoozed: ReadonlyMap<number, number>,
  me = '',
): Lists {
  const same = new Map<number, Request[]>()
  const out: Lists = { undelivered: [], needs: [], votes: [], snoozed: [], settled: [], duplicates: same }
  const every = [...all]
  const named = new Set(every.flatMap((r) => r.status.sameAs ?? []))
  const firsts = new Map(every.filter((r) => named.has(r.id)).map((r) => [r.id, r]))
  for (const r of every) {
    const first = isDecidable(r) ? firsts.get(r.status.sameAs ?? 0) : undefined
    // One answer to the first is an answer to all: they go with it, and come back with it.
    if (first?.status.status === 'pending') same.set(first.id, [...(same.get(first.id) ?? []), r])
    else if (awaitsVotes(r, me)) out.votes.push(r)
    else if (isDecidable(r)) (snoozedUntil(r, snoozed) > now ? out.snoozed : out.needs).push(r)
    else if (hasDeliveryFailure(r)) out.undelivered.push(r)
    else if (now - settledAt(r) < SETTLED_FOR) out.settled.push(r)
  }
  for (const group of [out.undelivered, out.needs, out.votes, out.snoozed, ...same.values()])
    group.sort((a, b) => a.id - b.id)
  out.settled.sort((a, b) => settledAt(b) - settledAt(a) || b.id - a.id)
  // What can still be taken back is shown, however much it is.
  const shown = Math.max(SETTLED_SHOWN, out.settled.filter(inUndoWindow).length)
  out.settled.length = Math.min(out.settled.length, shown)
  return out
}

/** When it came to its end, the hub's clock; for an answer on its way, when it was given. */
export function settledAt(r: Request): number {
  const { submission, status } = r
  return submission?.since ?? status.held?.until ?? status.respondedAt ?? status.response?.respondedAt ?? r.askedAt
}
