import type { Frame, Hello, ViewingMessage, Presence } from './types'

/** What the connection to the hub is doing, for the person to see. */
export type Connection =
  | { phase: 'connecting' }
  | { phase: 'catching-up'; behind: number }
  | { phase: 'live'; since: number; back?: Recovery }
  | { phase: 'waiting'; attempt: number; retryAt: number; restarting: boolean }

/** How a line that had been broken came back. */
export interface Recovery {
  /** How many changes had been missed, and have been caught up with. */
  missed: number
  /** Whether the hub had said that it restarts. */
  restarted: boolean
}

export interface StreamHandlers {
  /** Loads everything anew. Frames that arrive meanwhile are kept and follow it. */
  snapshot(): Promise<void>
  /** Takes event and status frames, in order, none twice, none missing. */
  frames(frames: Frame[]): void
  /** The hub's clock and version, at every connect. */
  hello(hello: Hello): void
  /** The hub has another history than the one this page knows. */
  replaced(): void
  /** Who else follows the hub. */
  presence(said: Presence): void
  connection(state: Connection): void
  /** The hub ended the line: the sign-in behind it is not good any more. */
  signedOut?(): void
}

/** The parts of the browser this needs, so that tests can stand in for it. */
export interface StreamEnvironment {
  open(path: string): WebSocket
  now(): number
  random(): number
}

const FIRST_DELAY = 300
const LAST_DELAY = 15_000
/** RFC 6455's registry: the hub goes down and comes again. */
const SERVICE_RESTART = 1012
/** The hub's own: what this page had signed in with was revoked, or is over. */
const SIGNED_OUT = 4401
const OPEN = 1
/** What turns a person to the page or away from it. */
const ATTENTION_EVENTS = ['focus', 'blur', 'visibilitychange']
/** How often a page says that it is still looked at: the hub believes it for a minute. */
const ATTENTION_INTERVAL = 25_000

const browser: StreamEnvironment = {
  open: (path) => new WebSocket(new URL(path, location.href.replace(/^http/, 'ws'))),
  now: Date.now,
  random: Math.random,
}

/**
 * Follows the hub's log over /stream?v=2 and resumes where it stopped: every
 * frame reaches the handlers once, however often the line breaks.
 */
export class Stream {
  private socket: WebSocket | undefined
  private timer: ReturnType<typeof setTimeout> | undefined
  private attempt = 0
  private stopped = true

  /** Where we are in which hub's log; undefined before the first hello. */
  private cursor: { hub: string; seq: number } | undefined
  /** The seq the hub had reached at hello: until then we are catching up. */
  private targetSeq = 0
  private needsSnapshot = true
  private live = false
  private restarting = false
  /** How far the hub had got when the line came back; undefined: it was not broken. */
  private missed: number | undefined
  /** The request this page shows; undefined: it has not said yet. */
  private viewing: number | undefined
  /** What the hub was told last of whether the person is here. */
  private focused = false
  private attention: ReturnType<typeof setInterval> | undefined
  /** Frames that arrived while the snapshot was loading. */
  private buffered: Frame[] | undefined

  constructor(
    private readonly handlers: StreamHandlers,
    private readonly world: StreamEnvironment = browser,
  ) {}

  start(): void {
    this.stopped = false
    window.addEventListener('online', this.retryNow)
    document.addEventListener('visibilitychange', this.retryNow)
    for (const turn of ATTENTION_EVENTS) window.addEventListener(turn, this.reportAttention)
    this.attention = setInterval(this.reportAttention, ATTENTION_INTERVAL)
    this.connect()
  }

  stop(): void {
    this.stopped = true
    window.removeEventListener('online', this.retryNow)
    document.removeEventListener('visibilitychange', this.retryNow)
    for (const turn of ATTENTION_EVENTS) window.removeEventListener(turn, this.reportAttention)
    clearInterval(this.attention)
    clearTimeout(this.timer)
    this.timer = undefined
    this.drop()
  }

  /** Connects at once when it was waiting to. */
  readonly retryNow = (): void => {
    if (this.stopped || this.timer === undefined || document.hidden) return
    clearTimeout(this.timer)
    this.connect()
  }

  /** Makes a new line in the place of this one, such as once somebody signed in. */
  renew(): void {
    if (this.stopped) return
    clearTimeout(this.timer)
    this.timer = undefined
    this.drop()
    this.connect()
  }

  /** Tells the hub which request this page shows; 0: none. */
  reportViewing(id: number): void {
    this.viewing = id
    if (this.socket?.readyState !== OPEN) return
    this.focused = document.hasFocus() && !document.hidden
    const looking: ViewingMessage = { type: 'looking', id, ...(this.focused && { focused: true }) }
    this.socket.send(JSON.stringify(looking))
  }

  /** Tells it whether the person is here: then they need no message of what is asked. */
  private readonly reportAttention = (): void => {
    if (this.viewing !== undefined && (this.focused || document.hasFocus())) this.reportViewing(this.viewing)
  }

  private connect(): void {
    this.timer = undefined
    this.live = false
    if (this.attempt === 0) this.handlers.connection({ phase: 'connecting' })
    const resume = this.cursor && `&after=${this.cursor.seq}&hub=${encodeURIComponent(this.cursor.hub)}`
    const socket = this.world.open(`/stream?v=2${resume ?? ''}`)
    this.socket = socket
    socket.onmessage = (message) => {
      if (this.socket === socket) this.receive(String(message.data))
    }
    socket.onclose = ({ code }) => {
      if (this.socket !== socket) return
      this.restarting ||= code === SERVICE_RESTART
      this.retry()
      if (code === SIGNED_OUT) this.handlers.signedOut?.()
    }
  }

  /** Forgets the socket: what it still says or how it ends is of no interest. */
  private drop(): void {
    const socket = this.socket
    this.socket = undefined
    this.buffered = undefined
    socket?.close()
  }

  private retry(): void {
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
    const message = JSON.parse(text) as Frame | Frame[]
    const frames: Frame[] = []
    for (const frame of Array.isArray(message) ? message : [message]) {
      if (frame.type === 'hello') this.handleHello(frame.data as Hello)
      else if (frame.type === 'resync') this.resync(frame.data as Hello)
      else if (frame.type === 'presence') this.handlers.presence(frame.data as Presence)
      else if (frame.type === 'event' || frame.type === 'status') frames.push(frame)
    }
    this.accept(frames)
  }

  private handleHello(hello: Hello): void {
    this.handlers.hello(hello)
    if (this.viewing !== undefined) this.reportViewing(this.viewing)
    this.missed = this.attempt > 0 && this.cursor ? Math.max(0, hello.seq - this.cursor.seq) : undefined
    this.attempt = 0
    if (this.cursor && this.cursor.hub !== hello.hubId) return this.resync(hello)
    this.cursor ??= { hub: hello.hubId, seq: hello.seq }
    this.targetSeq = hello.seq
    if (this.needsSnapshot) void this.load()
    else this.updatePhase()
  }

  private resync(hello: Hello): void {
    this.cursor = { hub: hello.hubId, seq: hello.seq }
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
      // The hub went away again; the next connection loads it.
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
    this.handlers.connection({ phase: 'live', since: this.world.now(), back })
  }
}
