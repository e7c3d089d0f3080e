import { bisect } from '../../lib/format/bisect'
import { startOfWaits, type Bar, type Lane } from './timeline'
import type { TimeScale } from './timeScale'

// The vertical layout of the lanes below the axis, in px.

export const AXIS = 28
export const TRACK = 24
export const BAR = 20
const MARKS = 18
const LABEL = 18
const PAD = 5

/** The position of a lane. */
export interface LaneRow {
  lane: Lane
  top: number
  height: number
  /** The center of its marks. */
  marks: number
  /** The top of its first track. */
  tracks: number
}

/** labeled: names are above the lanes, for narrow views. */
export function layOutLanes(lanes: readonly Lane[], labeled: boolean): { rows: LaneRow[]; height: number } {
  let top = 0
  const rows = lanes.map((lane) => {
    const label = labeled ? LABEL : 0
    const marks = lane.marks.length > 0 ? MARKS : 0
    const height = Math.max(PAD * 2 + label + marks + lane.tracks.length * TRACK, PAD * 2 + label + MARKS)
    const row = {
      lane,
      top,
      height,
      marks: top + PAD + label + MARKS / 2,
      tracks: top + PAD + label + marks,
    }
    top += height
    return row
  })
  return { rows, height: top }
}

/** The index of the first bar that ends at or after a time, or of a wait that may, by binary search. */
export function firstBarFrom(track: readonly Bar[], time: number): number {
  const at = bisect(0, track.length, (i) => (track[i]?.end ?? Infinity) < time)
  return startOfWaits(track, at)
}

const NEAR = 7

/** The bar at a point. x is relative to the start of the timeline, y to the first lane. */
export function barAt(
  rows: readonly LaneRow[],
  scale: TimeScale,
  at: { x: number; y: number; now: number },
): Bar | undefined {
  const row = rows.find((s) => at.y >= s.top && at.y < s.top + s.height)
  if (!row) return undefined
  const { lane } = row
  if (lane.marks.length > 0 && at.y < row.tracks) return nearest(lane.marks, scale, at)
  const track = lane.tracks[Math.floor((at.y - row.tracks) / TRACK)]
  if (!track) return undefined
  const bar = nearest(track, scale, at)
  const within = (b: Bar) => scale.x(b.start) <= at.x && at.x <= scale.x(b.end ?? at.now)
  return bar?.waits?.find(within) ?? bar
}

function nearest(bars: readonly Bar[], scale: TimeScale, at: { x: number; now: number }): Bar | undefined {
  let best: Bar | undefined
  let least = NEAR
  for (let i = firstBarFrom(bars, scale.t(at.x - NEAR - 1)); i < bars.length; i++) {
    const bar = bars[i]
    if (!bar) break
    const from = scale.x(bar.start)
    if (from > at.x + NEAR) break
    const away = Math.max(from - at.x, at.x - Math.max(from + 2, scale.x(bar.end ?? at.now)), 0)
    if (away > least || (away === least && away > 0)) continue
    best = bar // of bars that overlap, the last one is on top
    least = away
  }
  return best
}

/** The next bar for an arrow key: in the same lane, or at about the same time in the lane above or below. */
export function neighborBar(lanes: readonly Lane[], bar: Bar, key: string): Bar | undefined {
  const { bars } = bar.lane
  const at = bars.indexOf(bar)
  if (key === 'ArrowRight') return bars[at + 1]
  if (key === 'ArrowLeft') return bars[at - 1]
  if (key === 'Home') return bars[0]
  if (key === 'End') return bars[bars.length - 1]
  const by = key === 'ArrowDown' ? 1 : -1
  for (let i = lanes.indexOf(bar.lane) + by; i >= 0 && i < lanes.length; i += by) {
    const there = lanes[i]?.bars ?? []
    if (there.length > 0)
      return there.find((b) => (b.end ?? Infinity) >= bar.start) ?? there[there.length - 1]
  }
  return undefined
}
