import type * as api from '../api'
import type { Entry } from '../eventView'
import type { RingBuffer } from '../ringBuffer'
import type { Event, Status } from '../types'
import { Session } from './timeline'

/** What a feed needs of the hub. */
export interface EventSource {
  readonly events: RingBuffer<Entry>
  readonly loaded: boolean
  request(id: number): { status: Status } | undefined
}

export type Phase = 'loading' | 'live' | 'failed'

const PAGE = 1000

/**
 * Fills a session with its events: page by page from the hub's log, then from the
 * stream as they come. Whatever it may have missed it loads again from the log.
 */
export class SessionLoader {
  readonly session = new Session()
  phase: Phase = 'loading'
  problem = ''
  private stopped = false
  /** The newest event of the hub that has been looked at. */
  private checkedUpTo = 0
  /** The place in the ring to look at next. */
  private nextIndex = 0
  private readonly fetched = new Set<number>() // questions whose end was asked for

  /** changed is called when something is different. */
  constructor(
    private readonly app: string,
    private readonly id: string,
    private readonly hub: { source: EventSource; calls: Pick<typeof api, 'find' | 'event'> },
    private readonly onChange: () => void,
  ) {}

  /** Loads what the log has behind the newest event that is known. */
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

  /** Takes in what the stream brought since the last time. */
  sync(): void {
    if (this.phase !== 'live') return
    const { events } = this.hub.source
    const first = events.at(Math.max(this.nextIndex, events.start))
    if (first && first.id > this.checkedUpTo + 1 && this.nextIndex <= events.start) {
      // The stream began after the log had been read, or the ring has lost something.
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

  /** How the questions that wait stand now. */
  private updateStatuses(): void {
    if (!this.hub.source.loaded) return
    for (const id of [...this.session.pendingQuestions]) {
      const known = this.hub.source.request(id)
      if (known) this.session.status(id, known.status)
      else if (!this.fetched.has(id)) void this.fetchQuestion(id)
    }
  }

  /** Asks for a question that ended before the page could follow it. */
  private async fetchQuestion(id: number): Promise<void> {
    this.fetched.add(id)
    try {
      const event = await this.hub.calls.event(id)
      if (event.humanInTheLoopStatus) this.session.status(id, event.humanInTheLoopStatus)
      if (!this.stopped) this.onChange()
    } catch {
      this.fetched.delete(id)
    }
  }
}
