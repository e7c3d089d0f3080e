import type * as api from '../api'
import type { Entry } from '../events'
import type { Ring } from '../ring'
import type { Event, Status } from '../types'
import { Session } from './lanes'

/** What a feed needs of the hub. */
export interface Source {
  readonly events: Ring<Entry>
  readonly loaded: boolean
  request(id: number): { status: Status } | undefined
}

export type Phase = 'loading' | 'live' | 'failed'

const PAGE = 1000

/**
 * Fills a session with its events: page by page from the hub's log, then from the
 * stream as they come. Whatever it may have missed it loads again from the log.
 */
export class Feed {
  readonly session = new Session()
  phase: Phase = 'loading'
  problem = ''
  private stopped = false
  /** The newest event of the hub that has been looked at. */
  private covered = 0
  /** The place in the ring to look at next. */
  private next = 0
  private readonly looked = new Set<number>() // questions whose end was asked for

  /** changed is called when something is different. */
  constructor(
    private readonly app: string,
    private readonly id: string,
    private readonly hub: { source: Source; calls: Pick<typeof api, 'find' | 'event'> },
    private readonly changed: () => void,
  ) {}

  /** Loads what the log has behind the newest event that is known. */
  async load(): Promise<void> {
    this.phase = 'loading'
    try {
      for (let more = true; more && !this.stopped;) {
        const known = this.hub.source.events.last?.id ?? 0
        const page = await this.page()
        if (this.stopped) return
        for (const e of page) this.session.take(e)
        more = page.length === PAGE
        if (!more) this.covered = Math.max(known, this.session.lastId)
        if (more) this.changed()
      }
      this.phase = 'live'
      this.sync()
    } catch (error) {
      this.phase = 'failed'
      this.problem = error instanceof Error ? error.message : String(error)
    }
    if (!this.stopped) this.changed()
  }

  private page(): Promise<Event[]> {
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
    const first = events.at(Math.max(this.next, events.start))
    if (first && first.id > this.covered + 1 && this.next <= events.start) {
      // The stream began after the log had been read, or the ring has lost something.
      this.covered = first.id
      void this.load()
      return
    }
    events.each(this.next, ({ event }) => {
      if (event.session_id === this.id && event.source_app === this.app) this.session.take(event)
    })
    this.next = events.end
    this.covered = Math.max(this.covered, events.last?.id ?? 0)
    this.statuses()
  }

  /** How the questions that wait stand now. */
  private statuses(): void {
    if (!this.hub.source.loaded) return
    for (const id of [...this.session.asking]) {
      const known = this.hub.source.request(id)
      if (known) this.session.status(id, known.status)
      else if (!this.looked.has(id)) void this.look(id)
    }
  }

  /** Asks for a question that ended before the page could follow it. */
  private async look(id: number): Promise<void> {
    this.looked.add(id)
    try {
      const event = await this.hub.calls.event(id)
      if (event.humanInTheLoopStatus) this.session.status(id, event.humanInTheLoopStatus)
      if (!this.stopped) this.changed()
    } catch {
      this.looked.delete(id)
    }
  }
}
