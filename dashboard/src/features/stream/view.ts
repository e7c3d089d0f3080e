import { bisect } from '../../lib/format/bisect'
import type { Entry } from '../../lib/stream/eventView'
import type { RingBuffer } from '../../lib/stream/ringBuffer'
import { rangeStart, type TimeRange } from './timeRange'

/** Maximum number of history rows in a view. */
export const MOST_OLDER = 50_000

const isWithin = (entry: Entry, from: number, to: number | undefined): boolean =>
  entry.at >= from && (to === undefined || entry.at < to)

/**
 * The rows of the stream: the entries of a ring buffer, live or frozen, preceded
 * by those from the hub's history. The rows have no gaps. The start and the end of a call are
 * one row, usually that of the start. While the view is frozen, rows do not move and new matches
 * are only counted.
 */
export class StreamView {
  range: TimeRange = {}
  /** The id down to which the history is searched; undefined if it is not. */
  reached: number | undefined
  /** There are no matches before the first row. */
  complete = false
  /** The rows are a part of the past that does not reach the present yet. */
  detached = false

  private found: Entry[] = []
  /** Number of entries removed from the front of `found`, plus one: 0 is the cursor for everything. */
  private dropped = 1
  /** Index in `found` of the first row. */
  private head = 0
  /** The next ring buffer position to read. */
  private next = 0
  private older: Entry[] = []
  /** The ids of the ends of calls that the history has and a row of a start shows. */
  private olderEnds = new Set<number>()
  /** The ends of calls that arrived since the last call of newest(). */
  private ends: Entry[] = []
  private frozen: Entry[] | undefined
  private frozenBase = 0
  private seen = 0
  private arrived = 0

  constructor(private ring: RingBuffer<Entry>) {}

  get paused(): boolean {
    return this.frozen !== undefined
  }

  /** Number of matches that arrived since the view was frozen. */
  get fresh(): number {
    return this.frozen ? this.arrived - this.seen : 0
  }

  /** Shows other entries, or another range of them. A frozen view stays frozen. now: the hub's clock. */
  show(ring: RingBuffer<Entry>, range: TimeRange = {}, now = 0): void {
    this.ring = ring
    this.range = range
    this.forgetHistory()
    this.reset(now)
    if (!this.frozen) return
    this.detached = false
    this.frozen = undefined
    this.pause()
  }

  private forgetHistory(): void {
    this.older = []
    this.olderEnds.clear()
    this.reached = undefined
    this.complete = false
  }

  private reset(now: number): void {
    this.dropped += this.found.length
    this.found = []
    this.head = 0
    this.next = this.ring.start
    this.sync(now)
  }

  /** What a held entry is: a row, or the end of a call, in the row of its start; undefined if it is out of range. */
  private roleOf(entry: Entry, from: number): 'row' | 'end' | undefined {
    const { to } = this.range
    if (!isWithin(entry, from, to)) return undefined
    const { other } = entry
    if (!other || other.id > entry.id) return 'row'
    const start = this.ring.find(other.id)
    if (start && isWithin(start, from, to)) return 'end'
    return !this.detached && this.older.some(({ id }) => id === other.id) ? 'end' : 'row'
  }

  /** Without the entries that a row, or an earlier one of them, shows. */
  private withoutRows(entries: Entry[]): Entry[] {
    const ids = new Set(entries.map((e) => e.id))
    return entries.filter(({ id, other }) => {
      if (!other || (this.indexOf(other.id) < 0 && (other.id > id || !ids.has(other.id)))) return true
      if (other.id < id) this.olderEnds.add(id)
      return false
    })
  }

  /** Reads new entries from the ring buffer. now: the hub's clock. */
  sync(now = 0): void {
    if (this.next > this.ring.end) {
      this.forgetHistory() // the buffer was cleared: another hub, another history
      return this.reset(now)
    }
    const from = rangeStart(this.range, now)
    const { found } = this
    const had = found.length
    this.ring.each(this.next, (entry) => {
      const role = this.roleOf(entry, from)
      if (role) (role === 'row' ? found : this.ends).push(entry)
    })
    this.arrived += found.length - had
    this.next = this.ring.end
    this.dropStale(from)
  }

  /** Drops rows that are too old, and overwritten ones unless history rows precede them. */
  private dropStale(from: number): void {
    if (this.older.length > 0 && !this.detached && this.rowsHeld > this.ring.capacity + MOST_OLDER)
      this.forgetHistory()
    const keep = this.older.length > 0 && !this.detached
    const oldest = keep ? -Infinity : (this.ring.at(this.ring.start)?.id ?? Infinity)
    const gone = (e: Entry | undefined) => e !== undefined && (e.id < oldest || e.at < from)
    if (!this.frozen && gone(this.older[0])) this.older = this.older.filter((e) => !gone(e))
    while (gone(this.found[this.head])) this.head++
    if (this.head > 10_000) {
      this.found = this.found.slice(this.head)
      this.dropped += this.head
      this.head = 0
    }
  }

  private get rowsHeld(): number {
    return this.older.length + this.found.length - this.head
  }

  pause(): void {
    if (this.frozen) return
    this.frozen = this.found.slice(this.head)
    this.frozenBase = this.dropped + this.head
    this.seen = this.arrived
  }

  follow(): void {
    // If entries were overwritten in the meantime, there would be a gap after the history.
    if (this.frozen && (this.detached || this.frozenBase !== this.dropped + this.head)) this.forgetHistory()
    this.frozen = undefined
    this.detached = false
  }

  /** Adds history matches before the first row. reached: the id down to which was searched. */
  prepend(entries: Entry[], reached: number, complete: boolean): void {
    const first = this.at(0)?.id ?? Infinity
    this.older = [...this.withoutRows(entries.filter((e) => e.id < first)), ...this.older]
    this.reached = reached
    this.complete = complete
  }

  /** Whether the limit of history rows is reached. */
  get full(): boolean {
    return this.older.length >= MOST_OLDER
  }

  /** Shows a part of the past and freezes the view. */
  showRange(entries: Entry[]): void {
    this.forgetHistory()
    this.frozen = []
    this.frozen = this.withoutRows(entries)
    this.frozenBase = 0
    this.seen = this.arrived
    this.detached = true
    this.reached = entries[0]?.id
  }

  /** Adds history matches after the last row of a detached view. */
  append(entries: Entry[]): void {
    const last = this.at(this.length - 1)?.id ?? 0
    this.frozen = [...(this.frozen ?? []), ...this.withoutRows(entries.filter((e) => e.id > last))]
  }

  /** Reattaches the view to the live entries, once there is no gap between them. */
  rejoinLive(): void {
    this.append(this.found.slice(this.head))
    this.detached = false
    this.seen = this.arrived
  }

  get length(): number {
    return this.older.length + (this.frozen?.length ?? this.found.length - this.head)
  }

  /** A stable number of row 0, adjusted as rows come and go before it, to key the elements. */
  get base(): number {
    return (this.frozen ? this.frozenBase : this.dropped + this.head) - this.older.length
  }

  at(i: number): Entry | undefined {
    if (i < this.older.length) return this.older[i]
    const j = i - this.older.length
    return this.frozen ? this.frozen[j] : this.found[this.head + j]
  }

  /** A counter of matching entries, the cursor of newest(). */
  get end(): number {
    return this.dropped + this.found.length
  }

  /**
   * Calls fn for matching entries, newest first, down to the cursor, until fn returns
   * false. With cursor 0 the history rows are included. The ends of calls are entries, too.
   */
  newest(down: number, each: (entry: Entry) => boolean): void {
    const fn = (entry: Entry) => {
      const { other } = entry
      const ends = other && other.id > entry.id && (this.ring.find(other.id) ?? this.olderEnds.has(other.id))
      if (down === 0 && ends) each(other)
      return each(entry)
    }
    if (down > 0) this.ends.forEach(each)
    this.ends = []
    for (
      let i = this.found.length - 1;
      i >= (down > 0 ? Math.max(this.head, down - this.dropped) : this.head);
      i--
    ) {
      const entry = this.found[i]
      if (entry && !fn(entry)) return
    }
    if (down > 0 || this.detached) return
    for (let i = this.older.length - 1; i >= 0; i--) {
      const entry = this.older[i]
      if (entry && !fn(entry)) return
    }
  }

  /** The row that stands for an event, or -1. */
  rowOf(id: number): number {
    const at = this.indexOf(id)
    for (let i = this.length - 1; at < 0 && i >= 0; i--) if (this.at(i)?.other?.id === id) return i
    return at
  }

  /** The row index of an id, or -1. */
  indexOf(id: number): number {
    const at = bisect(0, this.length, (i) => (this.at(i)?.id ?? 0) < id)
    return this.at(at)?.id === id ? at : -1
  }
}
