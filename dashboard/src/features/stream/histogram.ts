import { eventStyle, type Entry, type EventStyle } from '../../lib/stream/eventView'
import { rangeStart, type TimeRange } from './timeRange'

export const BARS = 60
/** The width of the chart without a time range, ms. */
const MINUTE = 60_000

/** The stacks of a bar, from the bottom. */
export const stacks = ['tool', 'prompt', 'other', 'ask', 'fail'] as const
export type Stack = (typeof stacks)[number]

/** The height of the chart. */
export const HEIGHT = 36

const stackOf: Record<EventStyle, Stack> = {
  tool: 'tool',
  done: 'tool',
  prompt: 'prompt',
  session: 'prompt',
  note: 'other',
  other: 'other',
  ask: 'ask',
  fail: 'fail',
}

/** The matching entries of a StreamView. */
interface Source {
  readonly end: number
  newest(down: number, fn: (entry: Entry) => boolean): void
}

/** Counts events in 60 buckets of a time range, by style. */
export class Histogram {
  readonly counts: Record<Stack, Uint32Array>
  /** Milliseconds per bar. */
  width = MINUTE / BARS
  private next = 0
  /** Index of the last bar, counted from the Unix epoch. */
  private last = 0
  private fixed = false

  constructor() {
    this.counts = Object.fromEntries(stacks.map((s) => [s, new Uint32Array(BARS)])) as typeof this.counts
  }

  /** Resets the counts for another range or filter. */
  restart(range: TimeRange, now: number): void {
    const to = range.to ?? now
    const from = rangeStart(range, now)
    const span = Number.isFinite(from) ? to - from : MINUTE
    this.width = Math.max(1, span / BARS)
    this.fixed = range.to !== undefined
    this.last = Math.floor((to - (this.fixed ? 1 : 0)) / this.width)
    this.next = 0
    for (const s of stacks) this.counts[s].fill(0)
  }

  /** Counts new entries and advances to now (Unix ms). */
  sync(source: Source, now: number): void {
    if (!this.fixed) this.advance(Math.floor(now / this.width))
    source.newest(this.next, (entry) => this.count(entry))
    this.next = source.end
  }

  /** Returns false if the entry, and so all before it, is older than the first bar. */
  private count(entry: Entry): boolean {
    const age = this.last - Math.floor(entry.at / this.width)
    if (age >= BARS) return false
    const stack = this.counts[stackOf[eventStyle(entry.event)]]
    const slot = BARS - 1 - Math.max(0, age)
    stack[slot] = (stack[slot] ?? 0) + 1
    return true
  }

  private advance(bar: number): void {
    const by = Math.min(BARS, Math.max(0, bar - this.last))
    if (by === 0) return
    this.last = Math.max(this.last, bar)
    for (const s of stacks) {
      this.counts[s].copyWithin(0, by)
      this.counts[s].fill(0, BARS - by)
    }
  }

  /** When the first bar begins, Unix ms. */
  get from(): number {
    return (this.last - BARS + 1) * this.width
  }

  /** When the last bar ends, Unix ms. */
  get to(): number {
    return (this.last + 1) * this.width
  }

  /** Number of events in a bar. */
  at(bar: number): number {
    return stacks.reduce((n, s) => n + (this.counts[s][bar] ?? 0), 0)
  }

  /** The stacks as paths of an SVG image that is BARS wide and HEIGHT high. */
  get paths(): Record<Stack, string> {
    let most = 4
    for (let bar = 0; bar < BARS; bar++) most = Math.max(most, this.at(bar))
    const ground = new Float64Array(BARS).fill(HEIGHT)
    const draw = (stack: Stack) => {
      const least = stack === 'ask' || stack === 'fail' ? 3 : 1.5
      let path = ''
      for (const [i, n] of this.counts[stack].entries()) {
        if (n === 0) continue
        const bottom = ground[i] ?? HEIGHT
        const top = Math.max(0, bottom - Math.max(least, (n * (HEIGHT - 1)) / most))
        path += `M${i + 0.05},${bottom}V${top}h.9V${bottom}z`
        ground[i] = top
      }
      return path
    }
    return Object.fromEntries(stacks.map((stack) => [stack, draw(stack)])) as Record<Stack, string>
  }

  get total(): number {
    let n = 0
    for (let bar = 0; bar < BARS; bar++) n += this.at(bar)
    return n
  }

  /** Events per second over the last ten complete bars. */
  get rate(): number {
    let n = 0
    for (let bar = BARS - 11; bar < BARS - 1; bar++) n += this.at(bar)
    return n / ((10 * this.width) / 1000)
  }
}
