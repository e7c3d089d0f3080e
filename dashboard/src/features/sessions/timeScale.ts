import { bisect } from '../../lib/format/bisect'
import type { Bar } from './timeline'

/** A period in which nothing starts or ends. It is drawn narrow, with its duration. */
export interface Gap {
  from: number
  to: number
}

const GAP_WIDTH = 34 // px
/** A gap that is wider has a label, px. */
export const LABELED = 20
const MAX_GAP_SHARE = 0.35 // of the width, for all gaps together
const MAX_WIDTH = 10_000_000
const MIN_IDLE = 10_000
const MAX_IDLE = 300_000
const MIN_COVERED = 60_000

interface Segment extends Gap {
  /** Reports whether a call or a wait covers it. */
  covered: boolean
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
    if (!covered) return length > idle ? [{ from, to }] : []
    const others = work - length
    if (others < 1000 || length <= Math.max(MIN_COVERED, 3 * others)) return []
    const kept = Math.max(MIN_COVERED / 4, others / 2)
    return [{ from: from + kept, to: to - kept }]
  })
}

/** The value at x of a line through points. Both coordinates of the points ascend. */
function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  const i = bisect(1, xs.length - 1, (k) => (xs[k] ?? 0) < x)
  const from = xs[i - 1] ?? 0
  const length = (xs[i] ?? 0) - from
  const share = length > 0 ? Math.min(1, Math.max(0, (x - from) / length)) : 0
  const y = ys[i - 1] ?? 0
  return y + share * ((ys[i] ?? 0) - y)
}

/** Maps time to x coordinates and back, with gaps folded. */
export class TimeScale {
  readonly end: number
  /** The largest useful width: 0.05 ms per px, as far as browsers can lay out. */
  readonly maxWidth: number
  private readonly pxPerMs: number // outside of gaps
  private readonly times: number[] = []
  private readonly xs: number[] = []

  /** box: where the session is, in px. */
  constructor(
    readonly start: number,
    end: number,
    readonly gaps: readonly Gap[],
    { left, width }: { left: number; width: number },
  ) {
    this.end = Math.max(end, start + 1)
    const folded = gaps.reduce((sum, { from, to }) => sum + to - from, 0)
    const unfolded = Math.max(1, this.end - start - folded)
    const gapWidth = Math.min(GAP_WIDTH, (MAX_GAP_SHARE * width) / gaps.length)
    this.pxPerMs = (width - gaps.length * gapWidth) / unfolded
    this.maxWidth = Math.min(MAX_WIDTH, unfolded * 20)
    this.addPoint(start, left)
    for (const { from, to } of gaps) this.addPoint(to, this.addPoint(from) + gapWidth)
    this.addPoint(this.end)
  }

  private addPoint(time: number, x?: number): number {
    const last = this.times.length - 1
    const at = x ?? (this.xs[last] ?? 0) + (time - (this.times[last] ?? 0)) * this.pxPerMs
    this.times.push(time)
    this.xs.push(at)
    return at
  }

  x(time: number): number {
    return interpolate(this.times, this.xs, time)
  }

  t(x: number): number {
    return interpolate(this.xs, this.times, x)
  }

  /** Round times between x0 and x1, at least `room` px apart, outside of gaps and beside their labels. */
  ticks(x0: number, x1: number, room: number): number[] {
    const step = steps.find((one) => one * this.pxPerMs >= room) ?? 30 * day
    const next = (time: number) => this.start + Math.ceil((time - this.start) / step) * step
    const out: number[] = []
    let free = x0
    let t = next(this.t(x0))
    while (t <= this.end && this.x(t) <= x1) {
      const gap = this.gaps[bisect(0, this.gaps.length, (i) => (this.gaps[i]?.to ?? 0) <= t)]
      if (gap && gap.from < t) {
        t = next(gap.to)
        continue
      }
      const labelAt = gap && this.x(gap.to) - this.x(gap.from) > LABELED ? this.x(gap.from) : Infinity
      if (this.x(t) >= free && this.x(t) + room / 2 < labelAt) {
        out.push(t)
        free = this.x(t) + room
      }
      t += step
    }
    return out
  }
}

const [s, min, h, day] = [1000, 60_000, 3_600_000, 86_400_000]
const steps = [
  ...[1, 10, 100].flatMap((ms) => [ms, 2 * ms, 5 * ms]),
  ...[s, min].flatMap((unit) => [1, 2, 5, 10, 15, 30].map((n) => n * unit)),
  ...[1, 2, 3, 6, 12].map((n) => n * h),
  ...[1, 2, 7].map((n) => n * day),
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
