import type { find } from '../../lib/api/api'
import type { Entry } from '../../lib/stream/eventView'
import type { RingBuffer } from '../../lib/stream/ringBuffer'
import type { Event, Status } from '../../lib/api/types'
import { Session } from './timeline'

/** The part of HubState that SessionLoader uses. */
export interface EventSource {
  readonly events: RingBuffer<Entry>
  readonly loaded: boolean
  request(id: number): { status: Status } | undefined
}

/** The calls to the hub. */
interface Calls {
  find: typeof find
  event(id: number): Promise<Event>
}

export type Phase = 'loading' | 'live' | 'failed'

const PAGE = 1000

/**
 * Loads the events of a session: page by page from the hub's log, then live from the stream.
 * If the stream has a gap, it reads the log again.
 */
export class SessionLoader {
  readonly session = new Session()
  phase: Phase = 'loading'
  problem = ''
  private stopped = false
  /** The id of the newest hub event that has been processed, of any session. */
  private checkedUpTo = 0
  /** The next index of the ring buffer to process. */
  private nextIndex = 0
  private readonly fetched = new Set<number>() // ids of questions whose status was fetched

  /** onChange is called after every change. */
  constructor(
    private readonly app: string,
    private readonly id: string,
    private readonly hub: { source: EventSource; calls: Calls },
    private readonly onChange: () => void,
  ) {}

  /** Loads the events after the newest loaded one. It can be called again after a failure. */
  async load(): Promise<void> {
    this.phase = 'loading'
    try {
      for (let more = true; more && !this.stopped;) {
        const known = this.hub.source.events.last?.id ?? 0
        const page = await this.fetchPage()
        if (this.stopped) return
        for (const e of page) this.session.addEvent(e)
        more = page.length === PAGE
        if (!more) this.checkedUpTo = Math.max(known, this.session.lastId)
        if (more) this.onChange()
      }
      this.phase = 'live'
      this.sync()
    } catch (error) {
      this.phase = 'failed'
      this.problem = error instanceof Error ? error.message : String(error)
    }
    if (!this.stopped) this.onChange()
  }

  private fetchPage(): Promise<Event[]> {
    const { app, id } = this
    return this.hub.calls.find({ source_app: app, session_id: id, after: this.session.lastId, limit: PAGE })
  }

  stop(): void {
    this.stopped = true
  }

  /** Adds the events that the stream has delivered since the last call. */
  sync(): void {
    if (this.phase !== 'live') return
    const { events } = this.hub.source
    const first = events.at(Math.max(this.nextIndex, events.start))
    if (first && first.id > this.checkedUpTo + 1 && this.nextIndex <= events.start) {
      // Events are missing between the log and the stream, or the ring buffer has dropped some.
      this.checkedUpTo = first.id
      void this.load()
      return
    }
    events.each(this.nextIndex, ({ event }) => {
      if (event.session_id === this.id && event.source_app === this.app) this.session.addEvent(event)
    })
    this.nextIndex = events.end
    this.checkedUpTo = Math.max(this.checkedUpTo, events.last?.id ?? 0)
    this.updateStatuses()
  }

  /** Updates the pending questions. */
  private updateStatuses(): void {
    if (!this.hub.source.loaded) return
    for (const id of [...this.session.pendingQuestions]) {
      const known = this.hub.source.request(id)
      if (known) this.session.updateStatus(id, known.status)
      else if (!this.fetched.has(id)) void this.fetchQuestion(id)
    }
  }

  /** Fetches a question that ended before this tab knew it. */
  private async fetchQuestion(id: number): Promise<void> {
    this.fetched.add(id)
    try {
      const event = await this.hub.calls.event(id)
      if (event.humanInTheLoopStatus) this.session.updateStatus(id, event.humanInTheLoopStatus)
      if (!this.stopped) this.onChange()
    } catch {
      this.fetched.delete(id)
    }
  }
}
