import type { Entry } from '../events'
import { matches, parse, type Filter } from '../filter'
import type { Ring } from '../ring'

/**
 * The rows of the stream: what of the ring fits the filter, live or frozen. While
 * it is frozen nothing on screen shifts; what arrives is only counted.
 */
export class StreamView {
  private found: Entry[] = []
  /** How many entries were cut off the front of `found`. */
  private dropped = 0
  /** Where in `found` the entries begin that the ring still holds. */
  private head = 0
  /** The ring position to look at next. */
  private next = 0
  private frozen: Entry[] | undefined
  private seen = 0
  /** Rows from the hub's history, before everything in the ring. */
  private older: Entry[] = []
  filter: Filter = parse('')

  constructor(private readonly ring: Ring<Entry>) {}

  get paused(): boolean {
    return this.frozen !== undefined
  }

  /** How many matching entries have arrived since it was frozen. */
  get fresh(): number {
    return this.frozen ? this.arrived - this.seen : 0
  }

  private arrived = 0

  setFilter(filter: Filter): void {
    this.filter = filter
    this.older = []
    this.reset()
    if (this.frozen) {
      this.frozen = undefined
      this.pause()
    }
  }

  private reset(): void {
    this.found = []
    this.head = 0
    this.next = this.ring.start
    this.sync()
  }

  /** Takes in what the ring got since the last time. */
  sync(): void {
    if (this.next > this.ring.end) return this.reset() // it was cleared
    for (let at = Math.max(this.next, this.ring.start); at < this.ring.end; at++) {
      const entry = this.ring.at(at)
      if (!entry || !matches(this.filter, entry)) continue
      this.found.push(entry)
      this.arrived++
    }
    this.next = this.ring.end
    this.forget()
  }

  /** Lets go of what the ring has lost. */
  private forget(): void {
    const oldest = this.ring.at(this.ring.start)?.id ?? Infinity
    while (this.head < this.found.length && (this.found[this.head]?.id ?? Infinity) < oldest) this.head++
    if (this.head > 10_000) {
      this.found = this.found.slice(this.head)
      this.dropped += this.head
      this.head = 0
    }
  }

  pause(): void {
    if (this.frozen) return
    this.frozen = this.found.slice(this.head)
    this.seen = this.arrived
  }

  follow(): void {
    this.frozen = undefined
    this.older = []
  }

  /** Puts history before the first row. It holds as long as the view is paused. */
  prepend(entries: Entry[]): void {
    const first = this.at(0)?.id ?? Infinity
    const fitting = entries.filter((e) => e.id < first && matches(this.filter, e))
    this.older = [...fitting, ...this.older]
  }

  get length(): number {
    return this.older.length + (this.frozen?.length ?? this.found.length - this.head)
  }

  /** A number for the row at 0 that grows as rows go, so that a row keeps its element. */
  get base(): number {
    return this.frozen ? 0 : this.dropped + this.head
  }

  at(i: number): Entry | undefined {
    if (i < this.older.length) return this.older[i]
    const j = i - this.older.length
    return this.frozen ? this.frozen[j] : this.found[this.head + j]
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
