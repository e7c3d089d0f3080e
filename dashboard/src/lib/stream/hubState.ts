import { ApiError, find, get, post, problem as problemWith } from '../api/api'
import { apiText } from '../api/text'
import { AgentRegistry } from './agents'
import { Clock } from '../format/clock'
import { Entry } from './eventView'
import { HubNotices } from './hubNotices'
import { CallPairs } from './callPairs'
import { Presence } from './presence'
import {
  snoozedUntil,
  inUndoWindow,
  requiresVotes,
  groupRequests,
  isUndelivered,
  isNewer,
  isDecidable,
  isWhole,
  toRequest,
  settledAt,
  type Lists,
  type Request,
} from './requests'
import { clearRatings, storeRatings } from './ratings'
import { RingBuffer } from './ringBuffer'
import { Stream, type Connection } from './stream'
import type { Event, Frame, Hello, Problem, Response, Status, StatusChange } from '../api/types'
import type { MessagesChanged, RiskyCall } from '../api/schema'

/** The problem of a request of a batch for which the hub returned no result. */
const noResult = problemWith(apiText.noResult, 0, 'internal', apiText.noResultDetail)

/** Number of events in the ring buffer. */
export const CAPACITY = 50_000
const SETTLED_KEPT = 200
/** Lag in ms from which the page counts as behind. */
export const BEHIND = 2000
const LOOK_BACK = 2000
/** Number of requests in a result page; the last page has fewer. */
const REQUEST_PAGE = 1000

/** The calls to the hub. */
export interface Calls {
  find: typeof find
  get: typeof get
  post: typeof post
}

/** A passkey assertion. */
type Proof = NonNullable<Response['proof']>

/** A change that is announced to the person outside of the list. */
export interface Announcement {
  kind: 'asked' | 'reached' | 'lost' | 'failed'
  request: Request
  problem?: Problem
}

/**
 * The client-side state of the hub. Events are plain objects in a ring buffer and a map;
 * the frame scheduler notifies the screens of changes, at most once per frame.
 */
export class HubState extends HubNotices {
  readonly clock = new Clock()
  readonly events = new RingBuffer<Entry>(CAPACITY)
  readonly agents = new AgentRegistry()
  readonly presence = new Presence()
  readonly callPairs = new CallPairs()
  connection: Connection = { phase: 'connecting' }
  version = ''
  /** Whether the hub serves a newer version of the dashboard. */
  outdated = false
  /** Age of the newest event on arrival, ms. */
  lag = 0
  /** The id of the hub's database; empty before the first hello. */
  hubId = ''
  /** How often ratings of tool calls changed. */
  ratingChanges = 0
  /** How often the hub sent a rating by itself. */
  liveRatings = 0
  /** How often the hub reconnected with another database. */
  replacements = 0
  /** Whether the pending requests are loaded. Before that, an empty inbox means nothing. */
  listed = false
  loaded = false // the whole first snapshot

  /** The verified name of the user; empty if there is none. */
  private name = ''
  private readonly requests = new Map<number, Request>() // id → request
  private readonly announcementListeners = new Set<(h: Announcement) => void>()
  private cached: Lists | undefined
  private pruneAt = SETTLED_KEPT * 2
  private page: string | undefined
  private readonly stream: Stream
  private readonly messageListeners = new Set<(change: MessagesChanged) => void>()

  private wakeTimer: ReturnType<typeof setTimeout> | undefined

  /** snoozed: request id → end of the snooze. */
  constructor(
    private readonly snoozed: Map<number, number> = new Map(),
    private readonly calls: Calls = { find, get, post },
  ) {
    super()
    this.stream = new Stream({
      snapshot: () => this.snapshot(),
      frames: (frames) => this.frames(frames),
      hello: (hello) => this.hello(hello),
      heartbeat: ({ serverTime }) => this.clock.advance(serverTime),
      replaced: () => this.replaced(),
      connection: (state) => this.connected(state),
      presence: (said) => {
        this.presence.update(said)
        this.scheduler.invalidate('presence')
      },
      messages: (change) => {
        for (const listener of this.messageListeners) listener(change)
      },
      rating: (call) => {
        this.liveRatings++
        this.storeRatings([call])
      },
      notice: (frame) => this.receiveNotice(frame),
      signedOut: () => this.signedOut(),
      notOpened: () => this.notOpened(),
    })
  }

  /** Called when the hub closed the connection of an ended sign-in. */
  signedOut: () => void = () => undefined

  /** Called when a connection ended before the hub sent anything. */
  notOpened: () => void = () => undefined

  /** Calls the listener when the messages to a session change, until the result is called. */
  onMessages(listener: (change: MessagesChanged) => void): () => void {
    this.messageListeners.add(listener)
    return () => this.messageListeners.delete(listener)
  }

  /** Sets the verified name of the user; empty for none. */
  setUser(name: string): void {
    if (name === this.name) return
    this.name = name
    this.changed()
  }

  /** Reconnects the stream with the current sign-in. */
  restartStream(): void {
    this.stream.renew()
  }

  start(): void {
    this.stream.start()
  }

  stop(): void {
    this.stream.stop()
    clearTimeout(this.wakeTimer)
  }

  /** Reconnects now instead of at the next attempt. */
  reconnect(): void {
    this.stream.retryNow()
  }

  /** Reports the request that this page shows; 0 for none. Other pages show it as a viewer. */
  setViewing(id: number): void {
    this.presence.setViewing(id)
    this.stream.reportViewing(id)
    this.scheduler.invalidate('presence')
  }

  request(id: number): Request | undefined {
    return this.requests.get(id)
  }

  /** The groups of the inbox. Returns the same object until something changes. */
  lists(): Lists {
    if (!this.cached) {
      this.cached = groupRequests(this.requests.values(), this.clock.now(), this.snoozed, this.name)
      this.scheduleWake(this.cached.snoozed)
    }
    return this.cached
  }

  /** Subscribes to announcements. Returns the unsubscribe function. */
  onAnnouncement(fn: (h: Announcement) => void): () => void {
    this.announcementListeners.add(fn)
    return () => this.announcementListeners.delete(fn)
  }

  /** Snoozes a request until a time of the hub's clock; 0 ends the snooze. */
  snooze(id: number, until: number): void {
    const now = this.clock.now()
    for (const [other, end] of this.snoozed) if (end <= now) this.snoozed.delete(other)
    if (until > now) this.snoozed.set(id, until)
    else this.snoozed.delete(id)
    this.changed()
  }

  private scheduleWake(requests: Request[]): void {
    clearTimeout(this.wakeTimer)
    const next = Math.min(...requests.map((r) => snoozedUntil(r, this.snoozed)))
    if (next < Infinity) this.wakeTimer = setTimeout(() => this.changed(), next - this.clock.now() + 1)
  }

  /** Fetches a request the page does not hold, such as an old one from a link. */
  async fetchRequest(id: number): Promise<Request | undefined> {
    this.storeRequest(await this.calls.get('/events/:id', { id }))
    return this.requests.get(id)
  }

  /** Returns the requests with everything; the others are as before. */
  fetchWhole(requests: Request[]): Promise<Request[]> {
    return Promise.all(
      requests.map(async (r) =>
        isWhole(r.event) ? r : ((await this.fetchRequest(r.id).catch(() => undefined)) ?? r),
      ),
    )
  }

  /**
   * Answers a request optimistically: it counts as answered immediately. If the hub rejects
   * the answer, the request reopens with the problem. Returns whether it was accepted.
   */
  async answer(id: number, answer: Response): Promise<boolean> {
    const request = this.requests.get(id)
    if (!request || !isWhole(request.event)) return false
    if (requiresVotes(request)) return this.vote(request, answer)
    return this.submit(id, { since: this.clock.now(), answer }, () =>
      this.calls.post('/events/:id/respond', { id }, answer),
    )
  }

  /**
   * Adds a passkey assertion to an answer before it is sent. undefined if that failed; the
   * request is then unchanged except for the problem.
   */
  async withProof(id: number, answer: Response, prove: () => Promise<Proof>): Promise<Response | undefined> {
    const request = this.requests.get(id)
    if (!request || !isWhole(request.event)) return undefined
    return this.whileBusy(request, async () => ({ ...answer, proof: await prove() }))
  }

  /** Votes without an optimistic update, because the outcome depends on the other voters. */
  private async vote(request: Request, answer: Response): Promise<boolean> {
    const { id } = request
    const began = performance.now()
    const accepted = await this.whileBusy(request, () =>
      this.calls.post('/events/:id/respond', { id }, answer),
    )
    if (accepted) this.applyAccepted(accepted, performance.now() - began)
    return accepted !== undefined
  }

  /** Runs what the hub can refuse; undefined if it did, or if the request can't be decided now. */
  private async whileBusy<T>(request: Request, run: () => Promise<T>): Promise<T | undefined> {
    const { id } = request
    if (!isDecidable(request) || request.busy) return undefined
    this.setRequest({ ...request, busy: true, problem: undefined })
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.applyRejection(id, error.problem)
      return undefined
    } finally {
      const now = this.requests.get(id)
      if (now) this.setRequest({ ...now, busy: undefined })
    }
  }

  /** Cancels a request and the duplicates that it shows optimistically, like answer. */
  cancel(id: number, reason: string): Promise<boolean> {
    const revision = this.requests.get(id)?.status.revision
    return this.submit(id, { since: this.clock.now(), cancel: reason }, () =>
      this.calls.post('/events/:id/cancel', { id }, { reason: reason || undefined, revision }),
    )
  }

  /**
   * Approves permissions in bulk at the revisions the person saw, with an undo window of
   * holdMs. Returns the rejected requests, each with its problem.
   */
  async approve(seen: Request[], holdMs: number): Promise<Request[]> {
    const since = this.clock.now()
    const began = performance.now()
    const still = seen.filter(({ id }) => {
      const request = this.requests.get(id)
      if (!request || !isDecidable(request) || !isWhole(request.event)) return false
      this.setRequest({ ...request, submission: { since, answer: { permission: true } }, problem: undefined })
      return true
    })
    if (still.length === 0) return seen
    const refused = new Set(seen.filter((r) => !still.includes(r)).map((r) => r.id))
    try {
      const requests = still.map((r) => ({ id: r.id, revision: r.status.revision ?? 0 }))
      const results = await this.calls.post('/events/approve', { requests, holdMs })
      const savedIn = performance.now() - began
      for (const [i, { id }] of still.entries()) {
        const { event, problem } = results[i] ?? {}
        if (event) this.applyAccepted(event, savedIn)
        else this.applyRejection(id, problem ?? noResult)
        if (!event) refused.add(id)
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      for (const { id } of still) this.applyRejection(id, error.problem)
      for (const { id } of still) refused.add(id)
    }
    return seen.filter((r) => refused.has(r.id)).map((r) => this.requests.get(r.id) ?? r)
  }

  /** Undoes an answer in its undo window. Returns the problem if that failed. */
  undo(id: number): Promise<Problem | undefined> {
    return this.runAction(id, inUndoWindow, () => this.calls.post('/events/:id/undo', { id }))
  }

  /** Extends the deadline; 0 removes it. Returns the problem if that failed. */
  extend(id: number, seconds: number): Promise<Problem | undefined> {
    return this.runAction(id, isDecidable, () => this.calls.post('/events/:id/extend', { id }, { seconds }))
  }

  /** Retries an undelivered answer now. Returns the problem if that failed. */
  redeliver(id: number): Promise<Problem | undefined> {
    return this.runAction(
      id,
      (r) => isUndelivered(r.status.delivery),
      () => this.calls.post('/events/:id/redeliver', { id }),
    )
  }

  /** Marks an undelivered answer as handled. Returns the problem if that failed. */
  markHandled(id: number): Promise<Problem | undefined> {
    return this.runAction(
      id,
      (r) => isUndelivered(r.status.delivery),
      () => this.calls.post('/events/:id/handled', { id }),
    )
  }

  private async runAction(
    id: number,
    may: (r: Request) => boolean,
    send: () => Promise<Event>,
  ): Promise<Problem | undefined> {
    const request = this.requests.get(id)
    if (!request || !may(request) || request.busy) return undefined
    this.setRequest({ ...request, busy: true })
    try {
      this.storeRequest(await send())
      return undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const status = error.problem.humanInTheLoopStatus
      if (status) this.change({ id, humanInTheLoopStatus: status })
      return error.problem
    } finally {
      const now = this.requests.get(id)
      if (now) this.setRequest({ ...now, busy: undefined })
    }
  }

  private async submit(
    id: number,
    submission: Request['submission'],
    send: () => Promise<Event>,
  ): Promise<boolean> {
    const request = this.requests.get(id)
    if (!request || !isDecidable(request)) return false
    const began = performance.now()
    this.setRequest({ ...request, submission, problem: undefined })
    try {
      this.applyAccepted(await send(), performance.now() - began)
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.applyRejection(id, error.problem)
      return false
    }
  }

  /** The hub accepted this page's answer. */
  private applyAccepted(event: Event, saveDurationMs: number): void {
    const now = this.requests.get(event.id)
    const next = now && toRequest(event, { ...now, submission: undefined })
    // A vote that decided nothing does not make the resolution this page's.
    if (now && next)
      this.setRequest({ ...now, submission: undefined, mine: !isDecidable(next), saveDurationMs })
    this.storeRequest(event)
  }

  private applyRejection(id: number, problem: Problem): void {
    const request = this.requests.get(id)
    if (!request) return
    const status = problem.humanInTheLoopStatus ?? request.status
    const back = { ...request, submission: undefined, problem }
    this.setRequest(isNewer(request.status, status) ? back : withStatus(back, status))
    this.announce({ kind: 'failed', request: back, problem })
  }

  private hello(hello: Hello): void {
    this.clock.sync(hello.serverTime)
    this.version = hello.version
    this.hubId = hello.hubId
    this.page ??= hello.page
    if (hello.page && hello.page !== this.page) this.outdated = true
  }

  private connected(state: Connection): void {
    this.connection = state
    if (state.phase === 'waiting') {
      this.presence.forget()
      this.scheduler.invalidate('presence')
    }
    this.scheduler.invalidate('connection')
  }

  private replaced(): void {
    this.replacements++
    this.loaded = false // a snapshot follows
    clearRatings()
    this.events.clear()
    this.requests.clear()
    this.agents.clear()
    this.changed()
    this.scheduler.invalidate('stream')
    this.scheduler.invalidate('agents')
  }

  private async snapshot(): Promise<void> {
    const lists = await Promise.all([this.fetchAll('pending'), this.fetchAll('undelivered')])
    for (const event of lists.flat()) {
      this.storeRequest(event)
      this.agents.observe(event)
    }
    this.listed = true // the first card does not wait for the events
    this.changed()
    // The ratings come before the events, which a filter may select by them.
    const [recent] = await Promise.all([
      this.calls.get('/events/recent', { limit: 300, summary: 1 }),
      this.loadRatings(),
    ])
    for (const event of recent) this.ingest(event)
    this.loaded = true
    this.changed()
    this.scheduler.invalidate('agents')
  }

  /** Loads the ratings between two events; without them, the newest ones. */
  async loadRatings(between?: { first: number; last: number }): Promise<void> {
    const within = between && { after: between.first - 1, before: between.last + 1 }
    const found = await this.calls.get('/api/risky-calls', { ...within, limit: 1000 }).catch(() => undefined)
    if (found) this.storeRatings(found.calls)
  }

  private storeRatings(calls: readonly RiskyCall[]): void {
    if (calls.length === 0) return
    storeRatings(calls)
    this.ratingChanges++
    this.scheduler.invalidate('stream')
  }

  /** All events with this status, across all result pages. */
  private async fetchAll(status: string): Promise<Event[]> {
    let found: Event[] = []
    for (;;) {
      const before = found[0] ? { before: found[0].id } : {}
      const page = await this.calls.find({ status, limit: REQUEST_PAGE, ...before }, 2)
      found = [...page, ...found]
      if (page.length < REQUEST_PAGE) return found
    }
  }

  private frames(frames: Frame[]): void {
    for (const frame of frames) {
      if (frame.type === 'event') this.ingest(frame.data as Event)
      else this.change(frame.data as StatusChange)
    }
    if (frames.at(-1)?.type === 'event') this.measureLag()
  }

  /** Updates the lag: old arrivals mean that the page or the connection cannot keep up. */
  private measureLag(): void {
    const was = this.lag
    const live = this.connection.phase === 'live' // while catching up, arrivals are old anyway
    this.lag = live ? Math.max(0, this.clock.now() - (this.events.last?.at ?? 0)) : 0
    if (was > BEHIND || this.lag > BEHIND) this.scheduler.invalidate('connection')
  }

  /** Adds an event of the log, in log order. */
  private ingest(event: Event): void {
    const last = this.events.last
    if (!last || event.id > last.id) {
      const entry = new Entry(event)
      this.callPairs.add(entry)
      this.events.push(entry)
      this.scheduler.invalidate('stream')
    }
    this.agents.observe(event)
    this.scheduler.invalidate('agents')
    if (!event.humanInTheLoop) return
    const known = this.requests.has(event.id)
    this.storeRequest(event)
    const request = this.requests.get(event.id)
    if (!known && this.loaded && request && isDecidable(request)) this.announce({ kind: 'asked', request })
  }

  private change({ id, humanInTheLoopStatus: status }: StatusChange): void {
    const request = this.requests.get(id)
    if (request) {
      if (!isNewer(request.status, status)) this.setRequest(withStatus(request, status))
    } else if (status.status === 'pending' || isUndelivered(status.delivery)) {
      // An old request became relevant again: load it for the inbox.
      void this.fetchRequest(id).catch(() => undefined)
    }
  }

  /**
   * The first event of the session after the answer, which shows that the agent continued.
   * Searches only the events that the page holds.
   */
  nextEventAfter({ event, status }: Request): Event | undefined {
    const since = status.respondedAt
    if (since === undefined) return undefined
    let first: Event | undefined
    const { events } = this
    for (let at = events.end - 1; at >= Math.max(events.start, events.end - LOOK_BACK); at--) {
      const entry = events.at(at)
      if (!entry || entry.id <= event.id || entry.at < since) break
      const other = entry.event
      if (other.session_id === event.session_id && other.source_app === event.source_app) first = other
    }
    return first
  }

  /** Stores the current state of a request. */
  private storeRequest(event: Event): void {
    const request = toRequest(event, this.requests.get(event.id))
    if (request) this.setRequest(request)
  }

  private setRequest(next: Request): void {
    const before = this.requests.get(next.id)
    // Undone: the next answer may be another person's.
    const back = before !== undefined && inUndoWindow(before) && isDecidable(next)
    const request = back ? { ...next, mine: false, saveDurationMs: undefined } : next
    this.requests.set(request.id, request)
    const entry = this.events.find(request.id)
    if (entry && entry.event.humanInTheLoopStatus !== request.status) {
      entry.event = { ...entry.event, humanInTheLoopStatus: request.status }
      this.scheduler.invalidate('stream')
    }
    this.announceDelivery(before, request)
    this.prune()
    this.changed()
  }

  /** Announces the delivery state of this page's answers. */
  private announceDelivery(before: Request | undefined, now: Request): void {
    // The agent may have the answer before this page knows that its answer is the one.
    const was = before?.mine ? before.status.delivery?.state : undefined
    const is = now.status.delivery?.state
    if (!now.mine || was === is) return
    if (is === 'acked' || is === 'pulled' || is === 'delivered')
      this.announce({ kind: 'reached', request: now })
    else if (isUndelivered(now.status.delivery)) this.announce({ kind: 'lost', request: now })
  }

  private prune(): void {
    if (this.requests.size < this.pruneAt) return
    const evicted = [...this.requests.values()]
      .filter((r) => !isDecidable(r) && !r.submission && !isUndelivered(r.status.delivery))
      .sort((a, b) => settledAt(b) - settledAt(a))
      .slice(SETTLED_KEPT)
    for (const r of evicted) this.requests.delete(r.id)
    this.pruneAt = this.requests.size + SETTLED_KEPT
  }

  private changed(): void {
    this.cached = undefined
    this.scheduler.invalidate('inbox')
  }

  private announce(h: Announcement): void {
    for (const fn of this.announcementListeners) fn(h)
  }
}

function withStatus(request: Request, status: Status): Request {
  return { ...request, status, event: { ...request.event, humanInTheLoopStatus: status } }
}
