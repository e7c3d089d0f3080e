import type { Entry } from '../eventView'
import { matches, parse, type Filter } from '../filter'
import type { RingBuffer } from '../ringBuffer'
import { rangeStart, type TimeRange } from './timeRange'

/** How many rows of history a view holds at most. */
export const MOST_OLDER = 50_000

/**
 * The rows of the stream: what of the ring fits the filter and the range, live or
 * frozen, and before it what the hub's history gave. Rows are always an unbroken
 * stretch of what fits. While it is frozen nothing on screen shifts; what arrives
 * is only counted.
 */
export class StreamView {
  filter: Filter = parse('')
  range: TimeRange = {}
  /** How far back the history has been looked through: an id; undefined: not at all. */
  reached: number | undefined
  /** Nothing fits before the first row. */
  complete = false
  /** The rows are a stretch of the past: what follows the last one is not here yet. */
  detached = false

  private found: Entry[] = []
  /** How many entries were cut off the front of `found`. */
  private dropped = 0
  /** Where in `found` the rows begin. */
  private head = 0
  /** The ring position to look at next. */
  private next = 0
  private older: Entry[] = []
  private frozen: Entry[] | undefined
  private frozenBase = 0
  private seen = 0
  private arrived = 0

  constructor(private readonly ring: RingBuffer<Entry>) {}

  get paused(): boolean {
    return this.frozen !== undefined
  }

  /** How many matching entries have arrived since it was frozen. */
  get fresh(): number {
    return this.frozen ? this.arrived - this.seen : 0
  }

  /** Shows what fits another filter or range; a frozen view stays frozen. */
  setFilter(filter: Filter, range: TimeRange = {}, now = 0): void {
    this.filter = filter
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

  /** Takes in what the ring got since the last time. now: the hub's clock. */
  sync(now = 0): void {
    if (this.next > this.ring.end) {
      this.forgetHistory() // it was cleared: another hub, another history
      return this.reset(now)
    }
    const { to } = this.range
    const from = rangeStart(this.range, now)
    const { filter, found } = this
    const had = found.length
    this.ring.each(this.next, (entry) => {
      if (entry.at < from || (to !== undefined && entry.at >= to)) return
      if (matches(filter, entry)) found.push(entry)
    })
    this.arrived += found.length - had
    this.next = this.ring.end
    this.dropStale(from)
  }

  /** Lets go of what is too old, and of what the ring has lost unless history goes before it. */
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
    // Had the ring moved on meanwhile, there would be a gap behind the history.
    if (this.detached || this.frozen?.[0] !== this.found[this.head]) this.forgetHistory()
    this.frozen = undefined
    this.detached = false
  }

  /** Puts what the hub found before the first row; it looked back as far as the id reached. */
  prepend(entries: Entry[], reached: number, complete: boolean): void {
    const first = this.at(0)?.id ?? Infinity
    this.older = [...entries.filter((e) => e.id < first), ...this.older]
    this.reached = reached
    this.complete = complete
  }

  /** Whether no more history can be held. */
  get full(): boolean {
    return this.older.length >= MOST_OLDER
  }

  /** Shows a stretch of the past and holds still there. */
  showRange(entries: Entry[]): void {
    this.forgetHistory()
    this.frozen = entries
    this.frozenBase = 0
    this.seen = this.arrived
    this.detached = true
    this.reached = entries[0]?.id
  }

  /** Puts what the hub found behind the last row of a stretch of the past. */
  append(entries: Entry[]): void {
    const last = this.at(this.length - 1)?.id ?? 0
    this.frozen = [...(this.frozen ?? []), ...entries.filter((e) => e.id > last)]
  }

  /** Ends a stretch of the past with what has arrived since: nothing is missing between. */
  rejoinLive(): void {
    this.append(this.found.slice(this.head))
    this.detached = false
    this.seen = this.arrived
  }

  get length(): number {
    return this.older.length + (this.frozen?.length ?? this.found.length - this.head)
  }

  /** A number for the row at 0 that changes as rows come and go before it, so that a row keeps its element. */
  get base(): number {
    return (this.frozen ? this.frozenBase : this.dropped + this.head) - this.older.length
  }

  at(i: number): Entry | undefined {
    if (i < this.older.length) return this.older[i]
    const j = i - this.older.length
    return this.frozen ? this.frozen[j] : this.found[this.head + j]
  }

  /** A number that grows with every entry that fits, by which newest() goes on. */
  get end(): number {
    return this.dropped + this.found.length
  }

  /**
   * Calls fn for what arrived and fits, the newest first, down to the number given,
   * until fn says false; with 0 for the history before it too.
   */
  newest(down: number, fn: (entry: Entry) => boolean): void {
    for (let i = this.found.length - 1; i >= Math.max(this.head, down - this.dropped); i--) {
      const entry = this.found[i]
      if (entry && !fn(entry)) return
    }
    if (down > 0 || this.detached) return
    for (let i = this.older.length - 1; i >= 0; i--) {
      const entry = this.older[i]
      if (entry && !fn(entry)) return
    }
  }

  /** The place of an id among the rows, -1 when it is none of them. */
  indexOf(id: number): number {
    let low = 0
    let high = this.length - 1
    while (low <= high) {
      const middle = (low + high) >>> 1
      const at = this.at(middle)?.id ?? 0
      if (at === id) return middle
      if (at < id) low = middle + 1
      else high = middle - 1
    }
    return -1
  }
}
