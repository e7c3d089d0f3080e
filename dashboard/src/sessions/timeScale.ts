import type { Bar } from './timeline'

/** A stretch of time in which nothing begins or ends: drawn narrow, with its length. */
export interface Gap {
  from: number
  to: number
  /** Whether something went on all the while. */
  covered: boolean
}

const GAP = 34 // px of a break
const SHARE = 0.35 // of the width that breaks may take together, when everything is in sight
const SHORTEST = 10_000
const LONGEST = 300_000
const COVERED = 60_000

interface Segment extends Gap {
  length: number
}

function splitByActivity(bars: readonly Bar[], now: number): Segment[] {
  const points: { at: number; by: number }[] = []
  for (const bar of bars) {
    points.push({ at: bar.start, by: 1 }, { at: bar.end ?? Math.max(now, bar.start), by: -1 })
  }
  points.sort((a, b) => a.at - b.at)
  const out: Segment[] = []
  let going = 0
  points.forEach((point, i) => {
    going += point.by
    const to = points[i + 1]?.at
    if (to !== undefined && to > point.at)
      out.push({ from: point.at, to, covered: going > 0, length: to - point.at })
  })
  return out
}

/**
 * Where time is folded. Idle stretches are when they would take much of what the
 * session worked; of a long wait or call that dwarfs all the rest the middle is.
 */
export function findGaps(bars: readonly Bar[], now: number): Gap[] {
  const all = splitByActivity(bars, now)
  const work = all.reduce((sum, s) => sum + (s.covered ? s.length : 0), 0)
  const idle = Math.min(LONGEST, Math.max(SHORTEST, work * 0.15))
  return all.flatMap(({ from, to, covered, length }): Gap[] => {
    if (!covered) return length > idle ? [{ from, to, covered }] : []
    const others = work - length
    if (others < 1000 || length <= Math.max(COVERED, 3 * others)) return []
    const kept = Math.max(COVERED / 4, others / 2)
    return [{ from: from + kept, to: to - kept, covered }]
  })
}

/** From how many bars on the breaks are not worked out with every new one. */
const MANY = 500

/**
 * The breaks of a session as it grows. Of a long one they are worked out once a second,
 * and when it grew by a twentieth: what is new stands behind them.
 */
export class GapFolder {
  private gaps: Gap[] = []
  private upTo = 0
  private second = 0

  of(session: { bars: readonly Bar[]; busy: boolean; last: number }, now: number): Gap[] {
    const n = session.bars.length
    const second = Math.floor(now / 1000)
    if (second === this.second && n > MANY && n < this.upTo * 1.05) return this.gaps
    this.upTo = n
    this.second = second
    return (this.gaps = findGaps(session.bars, session.busy ? now : session.last))
  }
}

/** Time as a place on the screen, with breaks folded. */
export class TimeScale {
  /** px for each ms outside of breaks. */
  private k = 1
  private gap = GAP
  /** How much time the breaks before the i-th hold together. */
  private readonly before: number[] = []
  private readonly active: number
  readonly end: number

  constructor(
    readonly start: number,
    end: number,
    readonly gaps: readonly Gap[],
  ) {
    this.end = Math.max(end, start + 1)
    let sum = 0
    for (const b of gaps) {
      this.before.push(sum)
      sum += b.to - b.from
    }
    this.active = Math.max(1, this.end - start - sum)
  }

  /** Lays it out: at zoom 1 everything fits the width. */
  fit(width: number, zoom: number): this {
    const n = this.gaps.length
    this.gap = n === 0 ? 0 : Math.min(GAP, (SHARE * width * zoom) / n)
    this.k = Math.max(0, width * zoom - n * this.gap) / this.active
    return this
  }

  get width(): number {
    return this.active * this.k + this.gaps.length * this.gap
  }

  /** The greatest zoom that still tells something: 1 px is 0.05 ms. */
  maxZoom(width: number): number {
    return Math.max(1, (this.active * 20) / Math.max(1, width))
  }

  private index(t: number): number {
    let low = 0
    let high = this.gaps.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.gaps[middle]?.from ?? Infinity) < t) low = middle + 1
      else high = middle
    }
    return low - 1 // the last break that begins before t
  }

  x(time: number): number {
    const t = Math.min(Math.max(time, this.start), this.end)
    const i = this.index(t)
    const b = this.gaps[i]
    if (!b) return (t - this.start) * this.k
    const left = (b.from - this.start - (this.before[i] ?? 0)) * this.k + i * this.gap
    if (t < b.to) return left + ((t - b.from) / (b.to - b.from)) * this.gap
    return left + this.gap + (t - b.to) * this.k
  }

  t(x: number): number {
    let low = 0
    let high = this.gaps.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.x(this.gaps[middle]?.from ?? 0) <= x) low = middle + 1
      else high = middle
    }
    const b = this.gaps[low - 1]
    if (!b) return Math.min(this.end, this.start + x / this.k)
    const left = this.x(b.from)
    if (x < left + this.gap) return b.from + ((x - left) / Math.max(0.001, this.gap)) * (b.to - b.from)
    return Math.min(this.end, b.to + (x - left - this.gap) / this.k)
  }

  /** Times worth a label, at least `room` px apart, in the view from x0 to x1. */
  ticks(x0: number, x1: number, room: number): number[] {
    const step = steps.find((s) => s * this.k >= room) ?? (steps.at(-1) as number)
    const out: number[] = []
    let lastX = -Infinity
    let t = this.start + Math.max(0, Math.floor((this.t(Math.max(0, x0)) - this.start) / step)) * step
    for (let n = 0; n < 400 && t <= this.end; n++) {
      const within = this.gaps[this.index(t)]
      if (within && t > within.from && t < within.to) {
        t = this.start + Math.ceil((within.to - this.start) / step) * step
        continue
      }
      const x = this.x(t)
      if (x > x1) break
      if (x >= x0 && x - lastX >= room) {
        out.push(t)
        lastX = x
      }
      t += step
    }
    return out
  }
}

const [s, min, h, day] = [1000, 60_000, 3_600_000, 86_400_000]
const steps = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  s,
  2 * s,
  5 * s,
  10 * s,
  15 * s,
  30 * s,
  min,
  2 * min,
  5 * min,
  10 * min,
  15 * min,
  30 * min,
  h,
  2 * h,
  3 * h,
  6 * h,
  12 * h,
  day,
  2 * day,
  7 * day,
  30 * day,
]

/** Time since the begin as an axis says it: "0", "45 s", "2:05", "1:02:00", "+2 d 3:00:00". */
export function formatOffset(ms: number): string {
  if (ms < 1000) return ms === 0 ? '0' : `${Math.round(ms)} ms`
  const total = Math.floor(ms / 1000)
  const rest = Math.round(ms % 1000)
  if (total < 60) return rest === 0 ? `${total} s` : `${(ms / 1000).toFixed(rest % 100 === 0 ? 1 : 3)} s`
  const two = (n: number) => String(n).padStart(2, '0')
  const clock = (n: number) =>
    n >= 3600
      ? `${Math.floor(n / 3600)}:${two(Math.floor((n % 3600) / 60))}:${two(n % 60)}`
      : `${Math.floor(n / 60)}:${two(n % 60)}`
  if (total < 86_400) return clock(total)
  return `${Math.floor(total / 86_400)} d ${clock(total % 86_400)}`
}
