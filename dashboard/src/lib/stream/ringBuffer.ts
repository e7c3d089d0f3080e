import { bisect } from '../format/bisect'

/**
 * A ring buffer with the newest `capacity` items, oldest first. Every item has a permanent
 * absolute position, so a reader can resume and detect overwritten items.
 */
export class RingBuffer<T extends { readonly id: number }> {
  private readonly slots: T[] = []
  private written = 0

  constructor(readonly capacity: number) {
    if (capacity < 1) throw new RangeError('capacity must be at least 1')
  }

  /** Number of items held. */
  get length(): number {
    return Math.min(this.written, this.capacity)
  }

  /** The absolute position of the oldest item held. */
  get start(): number {
    return this.written - this.length
  }

  /** The absolute position the next item will get. */
  get end(): number {
    return this.written
  }

  push(item: T): void {
    this.slots[this.written % this.capacity] = item
    this.written++
  }

  /** The item at an absolute position; undefined if it is overwritten or not yet written. */
  at(position: number): T | undefined {
    if (position < this.start || position >= this.written) return undefined
    return this.slots[position % this.capacity]
  }

  /** Calls fn for every item from an absolute position, oldest first. */
  each(position: number, fn: (item: T) => void): void {
    const from = Math.max(position, this.start)
    let slot = from % this.capacity
    for (let left = this.written - from; left > 0; left--) {
      fn(this.slots[slot] as T)
      if (++slot === this.capacity) slot = 0
    }
  }

  /** The items, newest first. */
  *newest(): Generator<T> {
    for (let i = this.written - 1; i >= this.start; i--) yield this.slots[i % this.capacity] as T
  }

  get last(): T | undefined {
    return this.at(this.written - 1)
  }

  /** Finds an item by id with a binary search; ids must be ascending. */
  find(id: number): T | undefined {
    const item = this.at(bisect(this.start, this.written, (i) => (this.at(i)?.id ?? id) < id))
    return item?.id === id ? item : undefined
  }

  clear(): void {
    this.slots.length = 0
    this.written = 0
  }
}
