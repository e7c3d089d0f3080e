import { bisect } from '../../lib/format/bisect'
import type { Entry } from '../../lib/stream/eventView'
import { matches, parse, usesTranscripts, type Filter } from '../../lib/stream/filter'
import type { RingBuffer } from '../../lib/stream/ringBuffer'
import { rangeStart, type TimeRange } from './timeRange'

/** Maximum number of history rows in a view. */
export const MOST_OLDER = 50_000

/** Number of rows that fill any screen. */
const SCREEN = 200
/** Number of entries that a scan reads before it reads the clock. */
const BETWEEN_CHECKS = 64

const isWithin = (entry: Entry, from: number, to: number | undefined): boolean =>
  entry.at >= from && (to === undefined || entry.at < to)

/**
 * The rows of the stream: the matching entries of the ring buffer, live or frozen, preceded
 * by matches from the hub's history. The rows have no gaps. The start and the end of a call are
 * one row, usually that of the start. While the view is frozen, rows do not move and new matches
 * are only counted.
 */
export class StreamView {
  filter: Filter = parse('')
  range: TimeRange = {}
  /** The id down to which the history is searched; undefined if it is not. */
  reached: number | undefined
  /** There are no matches before the first row. */
  complete = false
  /** The rows are a part of the past that does not reach the present yet. */
  detached = false

  private found: Entry[] = []
  /** Number of entries removed from the front of `found`. */
  private dropped = 0
  /** Index in `found` of the first row. */
  private head = 0
  /** The next ring buffer position to read. */
  private next = 0
  /** The ring buffer position that the scan for the current filter reads next, downward; undefined once it is complete. */
  private restAt: number | undefined
  /** Matches of the scan that are not among the rows yet, newest first. */
  private unshown: Entry[] = []
  private older: Entry[] = []
  /** The ends of calls that arrived since the last call of newest(). */
  private ends: Entry[] = []
  private frozen: Entry[] | undefined
  private frozenBase = 0
  private seen = 0
  private arrived = 0

  constructor(private readonly ring: RingBuffer<Entry>) {}

  get paused(): boolean {
    return this.frozen !== undefined
  }

  /** Number of matches that arrived since the view was frozen. */
  get fresh(): number {
    return this.frozen ? this.arrived - this.seen : 0
  }

  /**
   * Applies another filter or range. A frozen view stays frozen. Held entries are read newest
   * first for as long as proceed returns true; scan() reads the others.
   */
  setFilter(filter: Filter, range: TimeRange = {}, now = 0, proceed = () => true): void {
    this.filter = filter
    this.range = range
    this.forgetHistory()
    this.reset(now, proceed)
    if (!this.frozen) return
    this.detached = false
    this.frozen = undefined
    this.pause()
  }

  private forgetHistory(): void {
    this.older = []
    this.reached = undefined
    this.complete = false
  }

  /** Empties the rows and begins a scan. */
  private reset(now: number, proceed?: () => boolean): void {
    this.restAt = this.ring.end - 1
    this.dropped += this.found.length
    this.found = []
    this.unshown = []
    this.head = 0
    this.next = this.ring.end
    this.scan(now, proceed)
  }

  /** Held entries have no transcripts: the hub finds the rows of a filter about them. */
  private isMatch(entry: Entry): boolean {
    return !usesTranscripts(this.filter) && matches(this.filter, entry)
  }

  /** What a held entry is: a row, or the end of a call, in the row of its start; undefined if it doesn't match. */
  private roleOf(entry: Entry, from: number): 'row' | 'end' | undefined {
    const { to } = this.range
    const matches = (e: Entry) => isWithin(e, from, to) && this.isMatch(e)
    const { other } = entry
    if (!matches(entry)) return undefined
    if (!other || other.id > entry.id) return 'row'
    if (this.ring.find(other.id) && matches(other)) return 'end'
    return !this.detached && this.older.some(({ id }) => id === other.id) ? 'end' : 'row'
  }

  /** Without the entries that a row, or an earlier one of them, shows. */
  private withoutRows(entries: Entry[]): Entry[] {
    const ids = new Set(entries.map((e) => e.id))
    return entries.filter(
      ({ id, other }) => !other || (this.indexOf(other.id) < 0 && (other.id > id || !ids.has(other.id))),
    )
  }

  /** Whether some of the held entries are still to be read for the filter. */
  get scanning(): boolean {
    return this.restAt !== undefined
  }

  /**
   * Reads held entries, newest first, until proceed returns false. Matches become rows once a
   * screen is not full without them, or the scan is complete. Returns the number of new rows.
   */
  scan(now = 0, proceed = () => true): number {
    if (this.restAt === undefined) return 0
    const from = rangeStart(this.range, now)
    for (let n = 1; this.restAt >= this.ring.start; n++) {
      const entry = this.ring.at(this.restAt--)
      if (entry && this.roleOf(entry, from) === 'row') this.unshown.push(entry)
      if (n % BETWEEN_CHECKS === 0 && !proceed()) break
    }
    if (this.restAt < this.ring.start) this.restAt = undefined
    else if (this.found.length - this.head >= SCREEN) return 0
    return this.showScanned(from)
  }

  private showScanned(from: number): number {
    const rows = this.unshown.reverse()
    this.unshown = []
    this.found = rows.concat(this.head > 0 ? this.found.slice(this.head) : this.found)
    this.dropped += this.head - rows.length
    this.head = 0
    if (this.frozen && !this.detached) {
      this.frozen = rows.concat(this.frozen)
      this.frozenBase -= rows.length
    }
    this.dropStale(from)
    return rows.length
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
    if (this.detached || this.frozen?.[0] !== this.found[this.head]) this.forgetHistory()
    this.frozen = undefined
    this.detached = false
  }

  /** Adds history matches before the first row. reached: the id down to which was searched. */
  prepend(entries: Entry[], reached: number, complete: boolean): void {
    this.scan() // otherwise there would be a gap
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
    this.scan()
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
      if (down === 0 && other && other.id > entry.id && this.isMatch(other)) each(other)
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
