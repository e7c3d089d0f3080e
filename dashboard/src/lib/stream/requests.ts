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
} from '../api/types'

/** A request with the local state of this page. */
export interface Request {
  readonly id: number
  readonly event: Event
  readonly question: HumanInTheLoop
  readonly status: Status
  /** Creation time by the hub's clock, Unix ms. */
  readonly askedAt: number
  /** An answer being submitted, shown optimistically as accepted. */
  readonly submission?: PendingSubmission
  /** Why the hub rejected this page's last answer. */
  readonly problem?: Problem
  /** Whether the accepted answer is this page's. */
  readonly mine: boolean
  /** An undo, retry or similar call is running, so the buttons are disabled. */
  readonly busy?: boolean
  /** Duration of the submission of this page's answer, ms. */
  readonly saveDurationMs?: number
}

export interface PendingSubmission {
  readonly since: number
  readonly answer?: Response
  readonly cancel?: string
}

/**
 * Whether the event has everything. Lists shorten large questions, and lists and streams leave out
 * large payloads. No one may answer a request that is not whole.
 */
export const isWhole = (e: Event): boolean => !e.questionTruncated && !e.payloadTruncated

/** Converts an event to a request; undefined without a question. before: its previous state. */
export function toRequest(listed: Event, before?: Request): Request | undefined {
  const status = listed.humanInTheLoopStatus ?? { status: 'pending' }
  // A list does not remove members that the page already has, of the event or of its status. A list with a
  // newer status does: a person fetches the request again, because lists shorten statuses, too.
  const known = before && isWhole(before.event) && !isWhole(listed) && !isNewer(status, before.status)
  const event = known ? before.event : listed
  const question = event.humanInTheLoop
  if (!question) return undefined
  const current = before && (known || isNewer(before.status, status)) ? before.status : status
  const isOpen = current.status === 'pending' && !current.held
  return {
    id: event.id,
    event,
    question,
    status: current,
    askedAt: receivedAt(event),
    submission: before?.submission,
    problem: isOpen ? before?.problem : undefined, // an undo must not bring it back
    mine: before?.mine ?? false,
    busy: before?.busy,
    saveDurationMs: before?.saveDurationMs,
  }
}

/** Whether status a has a higher revision than b. */
export const isNewer = (a: Status, b: Status): boolean => (a.revision ?? 0) > (b.revision ?? 0)

/** Whether it has an answer that can still be undone. */
export const inUndoWindow = (r: Request): boolean =>
  r.status.status === 'pending' && r.status.held !== undefined && !r.submission

/** Whether a person can still decide it here. */
export const isDecidable = (r: Request): boolean =>
  r.status.status === 'pending' && r.status.held === undefined && !r.submission

/** The risk level: the hub's assessment, or else the agent's. */
export const riskLevel = (r: Request): Risk | undefined => r.status.risk ?? r.question.risk

/** Whether the hub knows that the call changes nothing. */
export const isHarmless = (r: Request): boolean => r.status.class === 'harmless'

/** Whether it must be approved one by one: a finding of medium risk or more, or the agent's own estimate is high. */
export const isRisky = (r: Request): boolean => r.status.class === 'risky' || isHighRisk(r)

/** The tool call of a request as one line, as the hub states it, or else the first line of its text. */
export function requestTitle({ status: { intent }, question }: Request): string {
  if (!intent) return (question.question.trim().split('\n')[0] ?? '').replace(/^#{1,6} +/, '') // a heading
  return [intent.verb, intent.object, intent.change].filter(Boolean).join(' ')
}

/**
 * What the question says in addition to the title and the plan. "Run make?" is what a hook asks about a
 * call, and says nothing more.
 */
export function questionBelowTitle({ status: { intent }, question }: Request, plan = ''): string {
  const [first = '', ...lines] = question.question.trim().split('\n')
  const more = lines.join('\n').trim()
  const below = plan.trim().startsWith(more.replace(/…$/, '').trim()) ? '' : more
  const repeats = !intent || first.replace(/\?$/, '').replace(/^\S+ /, '') === intent.object
  return [repeats ? '' : first, below].filter(Boolean).join('\n\n')
}

/** Whether a decision needs press-and-hold. */
export const isHighRisk = (r: Request): boolean => riskLevel(r) === 'high' || riskLevel(r) === 'critical'

const failedStates: ReadonlySet<DeliveryState> = new Set([
  'unconfirmed',
  'refused',
  'unreachable',
  'too_late',
  'blocked',
])

/** Whether the delivery of an answer failed or is unconfirmed. */
export const isUndelivered = (d: Delivery | undefined): boolean =>
  d !== undefined && failedStates.has(d.state)

/** Whether people answered it. */
export const isAnsweredByPeople = (r: Request): boolean =>
  r.status.status === 'responded' && ['human', 'quorum'].includes(r.status.source ?? 'human')

/** Whether a person's answer was not delivered, and no one has marked it as handled. */
export const hasDeliveryFailure = (r: Request): boolean =>
  isAnsweredByPeople(r) && isUndelivered(r.status.delivery) && r.status.delivery?.handledAt === undefined

/** Whether it requires several votes. */
export const requiresVotes = (r: Request): boolean =>
  (r.status.requiredApprovals ?? r.question.requiredApprovals ?? 1) > 1

/** Whether it is addressed to certain people or requires votes. */
export const hasRecipients = (r: Request): boolean =>
  requiresVotes(r) || (r.status.recipients?.length ?? 0) > 0

/** The vote of the named person. */
export const findVote = (r: Request, name: string): Vote | undefined =>
  r.status.votes?.find((vote) => vote.user === name)

/** Whether it waits for other voters only: the named person has voted or is not a recipient. */
export function awaitsVotes(r: Request, me: string): boolean {
  if (!isDecidable(r) || !hasRecipients(r)) return false
  const { recipients } = r.status
  return findVote(r, me) !== undefined || (recipients !== undefined && !recipients.includes(me))
}

/** Whether an answer is required and it is no test of the hub. */
export const needsAnswer = (r: Request): boolean => r.question.requiresResponse !== false && !r.status.test

export interface Lists {
  undelivered: Request[]
  needs: Request[]
  /** Open requests whose agent is gone. */
  gone: Request[]
  votes: Request[]
  snoozed: Request[]
  settled: Request[]
  /** Duplicates by the id of their group leader. They have no separate rows. */
  duplicates: ReadonlyMap<number, Request[]>
  /** How many requests need the user: the only count of open requests that the page shows. */
  needsYou: number
}

/** The lists without any request. */
export const noLists = (): Lists => ({
  undelivered: [],
  needs: [],
  gone: [],
  votes: [],
  snoozed: [],
  settled: [],
  duplicates: new Map(),
  needsYou: 0,
})

const SETTLED_SHOWN = 20
const SETTLED_FOR = 3_600_000
/** A snooze ends this long before the deadline, ms. */
export const LAST_MINUTE = 60_000

/** End of the snooze of a request; 0 or less if it is not snoozed. */
export function snoozedUntil(r: Request, snoozed: ReadonlyMap<number, number>): number {
  const until = snoozed.get(r.id) ?? 0
  return Math.min(until, (r.status.expiresAt ?? Infinity) - LAST_MINUTE)
}

/**
 * Groups requests for the inbox, in order of arrival; settled ones are newest first.
 * me: the verified name of the user; empty if there is none.
 */
export function groupRequests(
  all: Iterable<Request>,
  now: number,
  snoozed: ReadonlyMap<number, number>,
  me = '',
): Lists {
  const same = new Map<number, Request[]>()
  const out: Lists = { ...noLists(), duplicates: same }
  const every = [...all]
  const named = new Set(every.flatMap((r) => r.status.sameAs ?? []))
  const firsts = new Map(every.filter((r) => named.has(r.id)).map((r) => [r.id, r]))
  for (const r of every) {
    const first = isDecidable(r) ? firsts.get(r.status.sameAs ?? 0) : undefined
    // An answer to the leader applies to the whole group, so duplicates follow the leader.
    if (first?.status.status === 'pending') same.set(first.id, [...(same.get(first.id) ?? []), r])
    else if (awaitsVotes(r, me)) out.votes.push(r)
    else if (isDecidable(r)) (snoozedUntil(r, snoozed) > now ? out.snoozed : out.needs).push(r)
    else if (hasDeliveryFailure(r)) out.undelivered.push(r)
    else if (now - settledAt(r) < SETTLED_FOR) out.settled.push(r)
  }
  // A group of equal calls is live if any member is.
  const isGone = (r: Request) => [r, ...(same.get(r.id) ?? [])].every((m) => m.status.waiter === 'lost')
  out.gone = out.needs.filter(isGone)
  out.needs = out.needs.filter((r) => !isGone(r))
  out.needsYou = out.needs.filter(needsAnswer).length
  for (const group of [out.undelivered, out.needs, out.gone, out.votes, out.snoozed, ...same.values()])
    group.sort((a, b) => a.id - b.id)
  out.settled.sort((a, b) => settledAt(b) - settledAt(a) || b.id - a.id)
  // Requests in their undo window are always shown.
  const shown = Math.max(SETTLED_SHOWN, out.settled.filter(inUndoWindow).length)
  out.settled.length = Math.min(out.settled.length, shown)
  return out
}

/**
 * The number of requests that need the user: open, requires an answer, its agent is not gone, addressed to
 * the user or to anyone, not snoozed, and no test. Equal calls count once.
 */
export const needsYou = (
  all: Iterable<Request>,
  me: string,
  snoozed: ReadonlyMap<number, number>,
  now: number,
): number => groupRequests(all, now, snoozed, me).needsYou

/** When it was resolved by the hub's clock; for a pending submission, when it was sent. */
export function settledAt(r: Request): number {
  const { submission, status } = r
  return (
    submission?.since ?? status.held?.until ?? status.respondedAt ?? status.response?.respondedAt ?? r.askedAt
  )
}
