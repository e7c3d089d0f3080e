import type { Entry } from '../events'
import { lookOf } from '../events'
import type { Ring } from '../ring'

export const SECONDS = 60

/** Events per second of the last minute: all, those that ask, those that failed. */
export class Pulse {
  readonly all = new Uint32Array(SECONDS)
  readonly asks = new Uint32Array(SECONDS)
  readonly fails = new Uint32Array(SECONDS)
  private next = 0
  private second = 0

  /** Takes in what the ring got, and moves on to now (Unix ms). */
  sync(ring: Ring<Entry>, now: number): void {
    this.advance(Math.floor(now / 1000))
    if (this.next > ring.end) this.next = ring.start
    for (let at = Math.max(this.next, ring.start); at < ring.end; at++) {
      const entry = ring.at(at)
      if (entry) this.count(entry)
    }
    this.next = ring.end
  }

  private count(entry: Entry): void {
    const age = this.second - Math.floor(entry.at / 1000)
    if (age >= SECONDS) return
    const slot = SECONDS - 1 - Math.max(0, age)
    this.all[slot] = (this.all[slot] ?? 0) + 1
    const look = lookOf(entry.event)
    if (look === 'ask') this.asks[slot] = (this.asks[slot] ?? 0) + 1
    else if (look === 'fail') this.fails[slot] = (this.fails[slot] ?? 0) + 1
  }

  private advance(second: number): void {
    const by = Math.min(SECONDS, Math.max(0, second - this.second))
    this.second = Math.max(this.second, second)
    for (const bins of [this.all, this.asks, this.fails]) {
      bins.copyWithin(0, by)
      bins.fill(0, SECONDS - by)
    }
  }

  get total(): number {
    return this.all.reduce((a, b) => a + b, 0)
  }

  /** Events per second, over the last ten whole seconds. */
  get rate(): number {
    return this.all.subarray(SECONDS - 11, SECONDS - 1).reduce((a, b) => a + b, 0) / 10
  }
}
