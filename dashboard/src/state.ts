import * as api from './api'
import { ApiError } from './api'
import { Agents } from './agents'
import { Clock } from './clock'
import { Entry } from './events'
import { Painter } from './paint'
import { Presence } from './presence'
import { lists, lost, newer, open, requestOf, settledAt, type Lists, type Request } from './requests'
import { Ring } from './ring'
import { Stream, type Connection } from './stream'
import type { Event, Frame, Hello, Problem, Response, Status, StatusChange } from './types'

/** How many events the page holds. */
export const CAPACITY = 50_000
const SETTLED_KEPT = 200
/** From how many ms on the page counts as behind. */
export const BEHIND = 2000

export type Topic = 'inbox' | 'stream' | 'connection' | 'agents' | 'presence'

/** Things the page tells the person beside the list. */
export interface Happening {
  kind: 'asked' | 'reached' | 'lost' | 'failed'
  request: Request
  problem?: Problem
}

/**
 * Everything the page knows of the hub. Events are plain objects in a ring and a
 * map; screens learn through the painter, once a frame, that something changed.
 */
export class Hub {
  readonly clock = new Clock()
  readonly painter = new Painter<Topic>()
  readonly events = new Ring<Entry>(CAPACITY)
  readonly agents = new Agents()
  readonly presence = new Presence()
  connection: Connection = { phase: 'connecting' }
  version = ''
  /** Whether the hub serves another page than this one by now. */
  outdated = false
  /** How long the newest event took from the hub to this page, ms. */
  lag = 0
  /** How often the hub came back with another history. */
  replacements = 0
  /** Whether the first snapshot is there: before it, an empty inbox means nothing. */
  loaded = false

  private readonly requests = new Map<number, Request>() // id → request
  private readonly happenings = new Set<(h: Happening) => void>()
  private cached: Lists | undefined
  private pruneAt = SETTLED_KEPT * 2
  private page: string | undefined
  private readonly stream: Stream

  /** hidden: the undelivered answers the person does not want to see any more. */
  constructor(
    private readonly hidden: Set<number> = new Set(),
    private readonly calls: typeof api = api,
  ) {
    this.stream = new Stream({
      snapshot: () => this.snapshot(),
      frames: (frames) => this.frames(frames),
      hello: (hello) => this.hello(hello),
      replaced: () => this.replaced(),
      connection: (state) => this.connected(state),
      presence: (said) => {
        this.presence.take(said)
        this.painter.touch('presence')
      },
    })
  }

  start(): void {
    this.stream.start()
  }

  stop(): void {
    this.stream.stop()
  }

  /** Connects now instead of at the next try. */
  reconnect(): void {
    this.stream.hurry()
  }

  /** Tells the hub, and so the other pages, which request this one shows; 0: none. */
  look(id: number): void {
    this.presence.look(id)
    this.stream.look(id)
    this.painter.touch('presence')
  }

  request(id: number): Request | undefined {
    return this.requests.get(id)
  }

  /** The inbox's groups, the same object until something changes. */
  lists(): Lists {
    return (this.cached ??= lists(this.requests.values(), this.clock.now(), this.hidden))
  }

  /** Calls fn for what happens; returns how to stop that. */
  onHappening(fn: (h: Happening) => void): () => void {
    this.happenings.add(fn)
    return () => this.happenings.delete(fn)
  }

  /** Takes an undelivered answer out of its group. */
  hide(id: number): void {
    this.hidden.add(id)
    this.changed()
  }

  /** Fetches a request the page does not hold, such as an old one from a link. */
  async fetchRequest(id: number): Promise<Request | undefined> {
    this.adopt(await this.calls.event(id))
    return this.requests.get(id)
  }

  /**
   * Answers a request. It counts as answered at once; when the hub does not take
   * the answer, it is open again and carries the problem. Returns whether it was taken.
   */
  answer(id: number, answer: Response): Promise<boolean> {
    return this.settle(id, { since: this.clock.now(), answer }, () => this.calls.respond(id, answer))
  }

  /** Cancels a request, in the same way. */
  cancel(id: number, reason: string): Promise<boolean> {
    return this.settle(id, { since: this.clock.now(), cancel: reason }, () => this.calls.cancel(id, reason))
  }

  private async settle(
    id: number,
    sending: Request['sending'],
    send: () => Promise<Event>,
  ): Promise<boolean> {
    const request = this.requests.get(id)
    if (!request || !open(request)) return false
    const began = performance.now()
    this.put({ ...request, sending, problem: undefined })
    try {
      const event = await send()
      const now = this.requests.get(id) ?? request
      this.put({ ...now, sending: undefined, mine: true, savedIn: performance.now() - began })
      this.adopt(event)
      return true
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.refused(id, error.problem)
      return false
    }
  }

  private refused(id: number, problem: Problem): void {
    const request = this.requests.get(id)
    if (!request) return
    const status = problem.humanInTheLoopStatus ?? request.status
    const back = { ...request, sending: undefined, problem }
    this.put(newer(request.status, status) ? back : withStatus(back, status))
    this.tell({ kind: 'failed', request: back, problem })
  }

  private hello(hello: Hello): void {
    this.clock.sync(hello.serverTime)
    this.version = hello.version
    this.page ??= hello.page
    if (hello.page && hello.page !== this.page) this.outdated = true
  }

  private connected(state: Connection): void {
    this.connection = state
    if (state.phase === 'waiting') {
      this.presence.forget()
      this.painter.touch('presence')
    }
    this.painter.touch('connection')
  }

  private replaced(): void {
    this.replacements++
    this.events.clear()
    this.requests.clear()
    this.agents.clear()
    this.changed()
    this.painter.touch('stream')
    this.painter.touch('agents')
  }

  private async snapshot(): Promise<void> {
    const [recent, pending, undelivered] = await Promise.all([
      this.calls.recent(300),
      this.all('pending'),
      this.all('undelivered'),
    ])
    for (const event of [...pending, ...undelivered]) {
      this.adopt(event)
      this.agents.see(event)
    }
    for (const event of recent) this.take(event)
    this.loaded = true
    this.changed()
    this.painter.touch('agents')
  }

  /** Every event in this state, however many pages they fill. */
  private async all(status: string): Promise<Event[]> {
    let found: Event[] = []
    for (;;) {
      const before = found[0] ? { before: found[0].id } : {}
      const page = await this.calls.find({ status, limit: 1000, ...before })
      if (page.length === 0) return found
      found = [...page, ...found]
    }
  }

  private frames(frames: Frame[]): void {
    for (const frame of frames) {
      if (frame.type === 'event') this.take(frame.data as Event)
      else this.change(frame.data as StatusChange)
    }
    if (frames.at(-1)?.type === 'event') this.measure()
  }

  /** Tells when what arrives is old: the page, or the line, can not keep up. */
  private measure(): void {
    const was = this.lag
    const live = this.connection.phase === 'live' // else what comes is old anyway
    this.lag = live ? Math.max(0, this.clock.now() - (this.events.last?.at ?? 0)) : 0
    if (was > BEHIND || this.lag > BEHIND) this.painter.touch('connection')
  }

  /** An event of the log, in the log's order. */
  private take(event: Event): void {
    const last = this.events.last
    if (!last || event.id > last.id) {
      this.events.push(new Entry(event))
      this.painter.touch('stream')
    }
    this.agents.see(event)
    this.painter.touch('agents')
    if (!event.humanInTheLoop) return
    const known = this.requests.has(event.id)
    this.adopt(event)
    const request = this.requests.get(event.id)
    if (!known && this.loaded && request && open(request)) this.tell({ kind: 'asked', request })
  }

  private change({ id, humanInTheLoopStatus: status }: StatusChange): void {
    const request = this.requests.get(id)
    if (request) {
      if (!newer(request.status, status)) this.put(withStatus(request, status))
    } else if (status.status === 'pending' || lost(status.delivery)) {
      // Something old came back to life: it belongs into the inbox.
      void this.fetchRequest(id).catch(() => undefined)
    }
  }

  /** Takes over an event as the hub has it now. */
  private adopt(event: Event): void {
    const request = requestOf(event, this.requests.get(event.id))
    if (request) this.put(request)
  }

  private put(request: Request): void {
    const before = this.requests.get(request.id)
    this.requests.set(request.id, request)
    const entry = this.events.find(request.id)
    if (entry && entry.event.humanInTheLoopStatus !== request.status) {
      entry.event = { ...entry.event, humanInTheLoopStatus: request.status }
      this.painter.touch('stream')
    }
    this.notice(before, request)
    this.prune()
    this.changed()
  }

  /** Tells how an answer of this page fared on its way. */
  private notice(before: Request | undefined, now: Request): void {
    const was = before?.status.delivery?.state
    const is = now.status.delivery?.state
    if (!now.mine || was === is) return
    if (is === 'acked' || is === 'pulled' || is === 'delivered') this.tell({ kind: 'reached', request: now })
    else if (lost(now.status.delivery)) this.tell({ kind: 'lost', request: now })
  }

  private prune(): void {
    if (this.requests.size < this.pruneAt) return
    const over = [...this.requests.values()]
      .filter((r) => !open(r) && !r.sending && !lost(r.status.delivery))
      .sort((a, b) => settledAt(b) - settledAt(a))
      .slice(SETTLED_KEPT)
    for (const r of over) this.requests.delete(r.id)
    this.pruneAt = this.requests.size + SETTLED_KEPT
  }

  private changed(): void {
    this.cached = undefined
    this.painter.touch('inbox')
  }

  private tell(h: Happening): void {
    for (const fn of this.happenings) fn(h)
  }
}

function withStatus(request: Request, status: Status): Request {
  return { ...request, status, event: { ...request.event, humanInTheLoopStatus: status } }
}
