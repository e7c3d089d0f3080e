import { parseJson } from '../api/exactJson'
import { monotonicNow } from '../format/clock'
import { PollSocket, SIGNED_OUT, type StreamSocket } from './pollSocket'
import type { Frame, Hello, ViewingMessage, Presence } from '../api/types'
import type { Heartbeat, MessagesChanged, RiskyCall } from '../api/schema'

/** The state of the connection to the hub. */
export type Connection =
  | { phase: 'connecting' }
  | { phase: 'catching-up'; behind: number }
  | { phase: 'live'; since: number; back?: Recovery; polling: boolean }
  | { phase: 'waiting'; attempt: number; retryAt: number; restarting: boolean }

/** How a broken connection recovered. */
export interface Recovery {
  /** Number of missed changes that were replayed. */
  missed: number
  /** Whether the hub announced a restart. */
  restarted: boolean
}

export interface StreamHandlers {
  /** Loads the full state. Frames that arrive in the meantime are buffered. */
  snapshot(): Promise<void>
  /** Receives event and status frames in order, exactly once. */
  frames(frames: Frame[]): void
  /** Receives the hub's clock and version on every connect. */
  hello(hello: Hello): void
  /** Receives the hub's clock, some seconds old if the page was suspended. */
  heartbeat?(beat: Heartbeat): void
  /** The hub has a different database than before. */
  replaced(): void
  /** Receives the other viewers. */
  presence(said: Presence): void
  /** The messages to a session changed. */
  messages(change: MessagesChanged): void
  /** Receives the rating of a tool call. */
  rating?(call: RiskyCall): void
  /** Receives a list that is not in the log, such as the active freezes. */
  notice?(frame: Frame): void
  connection(state: Connection): void
  /** The hub closed the connection because the sign-in ended. */
  signedOut?(): void
  /** A connection ended before the hub sent anything: it is offline, or reading requires a sign-in. */
  notOpened?(): void
}

/** The browser APIs it uses, replaceable in tests. now does not follow steps of the system's clock. */
export interface StreamEnvironment {
  open(path: string): StreamSocket
  poll(path: () => string): StreamSocket
  /** Whether the hub answers requests. */
  isReady(): Promise<boolean>
  now(): number
  random(): number
}

const FIRST_DELAY = 300
const LAST_DELAY = 15_000
/** RFC 6455 close code: the hub restarts. */
const SERVICE_RESTART = 1012
const OPEN = 1
/** The hub sends something at least every 15 s. After this silence, ms, the connection is replaced. */
const SILENCE = 35_000
/** The same, when the person or the network comes back. */
const SUSPICIOUS_SILENCE = 20_000
const SILENCE_CHECK = 5000
/** WebSockets in a row on which nothing came, although the hub answers requests, before the page polls. */
const FRUITLESS_SOCKETS = 2
/** Events after which a connection may be dead without a close event. */
const RETURN_EVENTS = ['online', 'focus', 'pageshow'] as const
/** Events after which the page may have gained or lost attention. */
const ATTENTION_EVENTS = ['focus', 'blur', 'visibilitychange']
/** Heartbeat of the attention, ms; the hub lets it expire after a minute. */
const ATTENTION_INTERVAL = 25_000

const browser: StreamEnvironment = {
  open: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, 'ws'))),
  poll: (path) => new PollSocket(path),
  isReady: () =>
    fetch('/readyz', { cache: 'no-store' }).then(
      (answer) => answer.ok,
      () => false,
    ),
  now: monotonicNow,
  random: Math.random,
}

/**
 * Follows the hub's log over /stream?v=2 and resumes after disconnects, so every frame
 * reaches the handlers exactly once. Reconnects with exponential backoff and jitter.
 */
export class Stream {
  private socket: StreamSocket | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private attempt = 0
  private stopped = true

  /** The hub and the sequence number read so far, with its epoch; undefined before the first hello. */
  private cursor: { hub: string; epoch?: string; seq: number } | undefined
  /** The epoch of the last hello. It counts from the next frame on: a resync may follow instead. */
  private epoch: string | undefined
  /** The hub's sequence number at hello; below it the stream is catching up. */
  private targetSeq = 0
  private needsSnapshot = true
  private live = false
  private restarting = false
  /** Number of missed changes at reconnect; undefined without a disconnect. */
  private missed: number | undefined
  /** The request that this page shows; undefined before it is set. */
  private viewing: number | undefined
  /** The focus that was last reported to the hub. */
  private focused = false
  private attention: ReturnType<typeof setInterval> | undefined
  private watchdog: ReturnType<typeof setInterval> | undefined
  /** Whether something came on the current connection. */
  private opened = false
  /** When the hub was last heard, or asked: wall counts sleep, now does not jump. */
  private heard = { now: 0, wall: 0 }
  /** WebSockets in a row on which nothing came, although the hub answers requests. */
  private fruitless = 0
  /** The hub's position for the next poll; undefined on a WebSocket. */
  private pollPosition: string | undefined
  /** Frames that arrived while the snapshot loads; undefined otherwise. */
  private buffered: Frame[] | undefined

  constructor(
    private readonly handlers: StreamHandlers,
    private readonly world: StreamEnvironment = browser,
  ) {}

  start(): void {
    this.stopped = false
    for (const event of RETURN_EVENTS) window.addEventListener(event, this.returned)
    document.addEventListener('visibilitychange', this.returned)
    this.watchdog = setInterval(() => this.replaceIfSilent(SILENCE), SILENCE_CHECK)
    for (const turn of ATTENTION_EVENTS) window.addEventListener(turn, this.reportAttention)
    this.attention = setInterval(this.reportAttention, ATTENTION_INTERVAL)
    this.connect()
  }

  stop(): void {
    this.stopped = true
    for (const event of RETURN_EVENTS) window.removeEventListener(event, this.returned)
    document.removeEventListener('visibilitychange', this.returned)
    clearInterval(this.watchdog)
    for (const turn of ATTENTION_EVENTS) window.removeEventListener(turn, this.reportAttention)
    clearInterval(this.attention)
    clearTimeout(this.timer)
    this.timer = undefined
    this.drop()
  }

  /** Reconnects immediately if it is waiting to. */
  readonly retryNow = (): void => {
    if (this.stopped || this.timer === undefined || document.hidden) return
    clearTimeout(this.timer)
    this.connect()
  }

  /** The person or the network is back: after a sleep or a change of network, no close event comes. */
  private readonly returned = (e: globalThis.Event): void => {
    this.retryNow()
    if (!document.hidden) this.replaceIfSilent(e.type === 'online' ? 0 : SUSPICIOUS_SILENCE)
  }

  private replaceIfSilent(limit: number): void {
    const silence = Math.max(this.world.now() - this.heard.now, Date.now() - this.heard.wall)
    if (this.socket && silence > limit) this.retry()
  }

  private listened(): void {
    this.heard = { now: this.world.now(), wall: Date.now() }
  }

  /** Replaces the connection, such as after a sign-in. */
  renew(): void {
    if (this.stopped) return
    clearTimeout(this.timer)
    this.timer = undefined
    this.fruitless = 0
    this.drop()
    this.connect()
  }

  /** Reports the request that this page shows; 0 for none. */
  reportViewing(id: number): void {
    this.viewing = id
    if (this.socket?.readyState !== OPEN) return
    this.focused = document.hasFocus() && !document.hidden
    const looking: ViewingMessage = { type: 'looking', id, ...(this.focused && { focused: true }) }
    this.socket.send(JSON.stringify(looking))
  }

  /** Reports whether the person is present and needs no notifications. */
  private readonly reportAttention = (): void => {
    if (this.viewing !== undefined && (this.focused || document.hasFocus())) this.reportViewing(this.viewing)
  }

  private connect(): void {
    this.timer = undefined
    this.live = false
    if (this.attempt === 0) this.handlers.connection({ phase: 'connecting' })
    this.pollPosition = this.fruitless < FRUITLESS_SOCKETS ? undefined : 'start'
    const socket = this.pollPosition ? this.world.poll(() => this.path()) : this.world.open(this.path())
    this.socket = socket
    this.listened()
    this.opened = false
    socket.onmessage = (message) => {
      if (this.socket !== socket) return
      this.opened = true
      if (!this.pollPosition) this.fruitless = 0
      this.listened()
      this.receive(String(message.data))
    }
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return
      this.restarting ||= code === SERVICE_RESTART
      const { opened } = this
      this.retry()
      if (code === SIGNED_OUT) this.handlers.signedOut?.()
      else if (!opened) this.handlers.notOpened?.()
    }
  }

  /** The address of the stream after what was received. */
  private path(): string {
    const { cursor, pollPosition } = this
    const resume = new URLSearchParams({
      v: '2',
      ...(cursor && { after: String(cursor.seq), hub: cursor.hub }),
      ...(cursor?.epoch && { epoch: cursor.epoch }),
      ...(pollPosition && { poll: pollPosition }),
    })
    return `/stream?${resume}`
  }

  /** Notes how a connection ended. After one that polled, one WebSocket is tried before the next. */
  private async judge(): Promise<void> {
    if (this.pollPosition) this.fruitless = FRUITLESS_SOCKETS - 1
    else if (!this.opened && (await this.world.isReady())) this.fruitless++
  }

  /** Closes the socket and ignores its further events. */
  private drop(): void {
    const socket = this.socket
    this.socket = undefined
    this.buffered = undefined
    socket?.close()
  }

  private retry(): void {
    if (this.socket) void this.judge()
    this.drop()
    if (this.stopped || this.timer !== undefined) return
    const delay = Math.min(LAST_DELAY, FIRST_DELAY * 2 ** this.attempt) * (0.75 + this.world.random() / 2)
    this.attempt++
    this.handlers.connection({
      phase: 'waiting',
      attempt: this.attempt,
      retryAt: this.world.now() + delay,
      restarting: this.restarting,
    })
    this.timer = setTimeout(() => this.connect(), delay)
  }

  private receive(text: string): void {
    const message = parseJson(text) as Frame | Frame[]
    const frames: Frame[] = []
    for (const frame of Array.isArray(message) ? message : [message]) {
      if (frame.type === 'hello') this.handleHello(frame.data as Hello)
      else if (frame.type === 'heartbeat') this.handleHeartbeat(frame.data as Heartbeat)
      else if (frame.type === 'resync') this.resync(frame.data as Hello)
      else if (frame.type === 'presence') this.handlers.presence(frame.data as Presence)
      else if (frame.type === 'message') this.handlers.messages(frame.data as MessagesChanged)
      else if (frame.type === 'risk') this.handlers.rating?.(frame.data as RiskyCall)
      else if (frame.type === 'event' || frame.type === 'status') frames.push(frame)
      else this.handlers.notice?.(frame)
    }
    this.accept(frames)
  }

  private handleHeartbeat(beat: Heartbeat): void {
    if (this.pollPosition && beat.poll) this.pollPosition = beat.poll
    this.handlers.heartbeat?.(beat)
  }

  private handleHello(hello: Hello): void {
    this.handlers.hello(hello)
    if (this.viewing !== undefined) this.reportViewing(this.viewing)
    this.missed = this.attempt > 0 && this.cursor ? Math.max(0, hello.seq - this.cursor.seq) : undefined
    this.attempt = 0
    if (this.cursor && this.cursor.hub !== hello.hubId) return this.resync(hello)
    this.epoch = hello.epoch
    this.cursor ??= { hub: hello.hubId, epoch: hello.epoch, seq: hello.seq }
    this.targetSeq = hello.seq
    if (this.needsSnapshot) void this.load()
    else this.updatePhase()
  }

  private resync(hello: Hello): void {
    this.epoch = hello.epoch
    this.cursor = { hub: hello.hubId, epoch: hello.epoch, seq: hello.seq }
    this.targetSeq = hello.seq
    this.needsSnapshot = true
    this.handlers.replaced()
    void this.load()
  }

  private async load(): Promise<void> {
    this.live = false
    const socket = this.socket
    const held: Frame[] = (this.buffered = [])
    this.handlers.connection({ phase: 'catching-up', behind: 0 })
    try {
      await this.handlers.snapshot()
    } catch {
      // The hub disconnected again; the next connection loads the snapshot.
      if (this.socket === socket) this.retry()
      return
    }
    if (this.buffered !== held) return
    this.buffered = undefined
    this.needsSnapshot = false
    if (held.length > 0) this.handlers.frames(held)
    this.updatePhase()
  }

  private accept(frames: Frame[]): void {
    const cursor = this.cursor
    if (frames.length === 0 || !cursor) return
    const fresh = frames.filter((frame) => frame.seq === undefined || frame.seq > cursor.seq)
    for (const frame of fresh) cursor.seq = frame.seq ?? cursor.seq
    if (fresh.length === 0) return
    cursor.epoch = this.epoch
    if (this.buffered) {
      this.buffered.push(...fresh)
      return
    }
    this.handlers.frames(fresh)
    if (!this.live) this.updatePhase()
  }

  private updatePhase(): void {
    const behind = this.targetSeq - (this.cursor?.seq ?? 0)
    this.live = behind <= 0
    if (!this.live) return this.handlers.connection({ phase: 'catching-up', behind })
    const { missed, restarting: restarted } = this
    const back = missed === undefined ? undefined : { missed, restarted }
    this.restarting = false
    const polling = this.pollPosition !== undefined
    this.handlers.connection({ phase: 'live', since: this.world.now(), back, polling })
  }
}
