import { bisect } from '../../lib/format/bisect'
import type { Bar } from './timeline'

/** A period in which nothing starts or ends. It is drawn narrow, with its duration. */
export interface Gap {
  from: number
  to: number
  /** Reports whether a call or a wait covers the period. */
  covered: boolean
}

const GAP_WIDTH = 34 // px
const MAX_GAP_SHARE = 0.35 // of the view, for all gaps together at zoom 1
const MIN_IDLE = 10_000
const MAX_IDLE = 300_000
const MIN_COVERED = 60_000

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
  let open = 0
  points.forEach((point, i) => {
    open += point.by
    const to = points[i + 1]?.at
    if (to !== undefined && to > point.at)
      out.push({ from: point.at, to, covered: open > 0, length: to - point.at })
  })
  return out
}

/**
 * The periods to fold: idle ones that are long relative to the work, and the middle of a call
 * or wait that dwarfs everything else.
 */
export function findGaps(bars: readonly Bar[], now: number): Gap[] {
  const all = splitByActivity(bars, now)
  const work = all.reduce((sum, s) => sum + (s.covered ? s.length : 0), 0)
  const idle = Math.min(MAX_IDLE, Math.max(MIN_IDLE, work * 0.15))
  return all.flatMap(({ from, to, covered, length }): Gap[] => {
    if (!covered) return length > idle ? [{ from, to, covered }] : []
    const others = work - length
    if (others < 1000 || length <= Math.max(MIN_COVERED, 3 * others)) return []
    const kept = Math.max(MIN_COVERED / 4, others / 2)
    return [{ from: from + kept, to: to - kept, covered }]
  })
}

/** Up to this number of bars, the gaps are computed for every change. */
const ALWAYS_UP_TO = 500

/**
 * Caches the gaps of a growing session. For a long session they are computed once per second,
 * and when it has grown by 5 %. New bars come after the cached gaps, so these stay correct.
 */
export class GapFolder {
  private gaps: Gap[] = []
  private barCount = 0
  private second = 0

  update(session: { bars: readonly Bar[]; busy: boolean; last: number }, now: number): Gap[] {
    const n = session.bars.length
    const second = Math.floor(now / 1000)
    if (second === this.second && n > ALWAYS_UP_TO && n < this.barCount * 1.05) return this.gaps
    this.barCount = n
    this.second = second
    return (this.gaps = findGaps(session.bars, session.busy ? now : session.last))
  }
}

/** Maps time to x coordinates, with gaps folded. */
export class TimeScale {
  /** px per ms outside of gaps */
  private pxPerMs = 1
  private gapWidth = GAP_WIDTH
  /** Element i is the total duration of the gaps before gap i. */
  private readonly foldedBefore: number[] = []
  private readonly unfolded: number
  readonly end: number

  constructor(
    readonly start: number,
    end: number,
    readonly gaps: readonly Gap[],
  ) {
    this.end = Math.max(end, start + 1)
    let sum = 0
    for (const b of gaps) {
      this.foldedBefore.push(sum)
      sum += b.to - b.from
    }
    this.unfolded = Math.max(1, this.end - start - sum)
  }

  /** Sets the width. At zoom 1 the whole session fits into it. */
  fit(width: number, zoom: number): this {
    const n = this.gaps.length
    this.gapWidth = n === 0 ? 0 : Math.min(GAP_WIDTH, (MAX_GAP_SHARE * width * zoom) / n)
    this.pxPerMs = Math.max(0, width * zoom - n * this.gapWidth) / this.unfolded
    return this
  }

  get width(): number {
    return this.unfolded * this.pxPerMs + this.gaps.length * this.gapWidth
  }

  /** The largest useful zoom: 0.05 ms per px. */
  maxZoom(width: number): number {
    return Math.max(1, (this.unfolded * 20) / Math.max(1, width))
  }

  private index(t: number): number {
    // the last gap that starts before t
    return bisect(0, this.gaps.length, (i) => (this.gaps[i]?.from ?? Infinity) < t) - 1
  }

  x(time: number): number {
    const t = Math.min(Math.max(time, this.start), this.end)
    const i = this.index(t)
    const b = this.gaps[i]
    if (!b) return (t - this.start) * this.pxPerMs
    const left = (b.from - this.start - (this.foldedBefore[i] ?? 0)) * this.pxPerMs + i * this.gapWidth
    if (t < b.to) return left + ((t - b.from) / (b.to - b.from)) * this.gapWidth
    return left + this.gapWidth + (t - b.to) * this.pxPerMs
  }

  t(x: number): number {
    const b = this.gaps[bisect(0, this.gaps.length, (i) => this.x(this.gaps[i]?.from ?? 0) <= x) - 1]
    if (!b) return Math.min(this.end, this.start + x / this.pxPerMs)
    const left = this.x(b.from)
    if (x < left + this.gapWidth)
      return b.from + ((x - left) / Math.max(0.001, this.gapWidth)) * (b.to - b.from)
    return Math.min(this.end, b.to + (x - left - this.gapWidth) / this.pxPerMs)
  }

  /** Round times between x0 and x1, at least `room` px apart. */
  ticks(x0: number, x1: number, room: number): number[] {
    const step = steps.find((s) => s * this.pxPerMs >= room) ?? (steps.at(-1) as number)
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

/** The time since the start, for the axis: "0", "45 s", "2:05", "1:02:00", "+2 d 3:00:00". */
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
