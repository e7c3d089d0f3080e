import type { TimeScale } from './timeScale'
import type { Bar, Lane } from './timeline'

// The lanes as rows of elements. All positions are in px.

export const AXIS = 28
export const TRACK = 24
const PAD = 4
const MAX_TRACKS = 8

/** The position of a lane, with its lines: the marks, then the tracks. */
export interface LaneRow {
  lane: Lane
  top: number
  height: number
  lines: { top: number; bars: Bar[] }[]
}

/** Puts each call and wait on the first free track. Waits that overlap share one: together they are one wait. */
export function assignTracks(bars: readonly Bar[]): Bar[][] {
  const tracks: Bar[][] = []
  const freeFrom: number[] = []
  for (const bar of bars) {
    if (bar.kind === 'mark' || bar.host) continue
    let at = freeFrom.findIndex((time) => time <= bar.start)
    if (at < 0 && bar.kind === 'wait') at = tracks.findIndex((track) => track.at(-1)?.kind === 'wait')
    if (at < 0) at = Math.min(tracks.length, MAX_TRACKS - 1)
    ;(tracks[at] ??= []).push(bar)
    freeFrom[at] = Math.max(freeFrom[at] ?? 0, bar.end ?? Infinity)
  }
  return tracks
}

export function layOutLanes(lanes: readonly Lane[]): { rows: LaneRow[]; height: number } {
  let top = AXIS
  const rows = lanes.map((lane) => {
    const marks = lane.bars.filter((bar) => bar.kind === 'mark')
    const lines = [...(marks.length > 0 ? [marks] : []), ...assignTracks(lane.bars)].map((bars, i) => ({
      top: PAD + i * TRACK,
      bars,
    }))
    const row = { lane, top, height: 2 * PAD + TRACK * Math.max(1, lines.length), lines }
    top += row.height
    return row
  })
  return { rows, height: top }
}

/** The element of a bar, of a part of it between waits, or of bars that look the same at nearly one place. */
export interface Piece {
  bar: Bar
  from: number
  to: number
}

/** How far apart bars that look the same start, so that each has an element. A mark has a symbol. */
const APART = { call: 3, wait: 3, mark: 12 }

/** The elements of a line that begin at most up to view.to and end from view.from on. */
export function visiblePieces(
  bars: readonly Bar[],
  scale: TimeScale,
  view: { from: number; to: number; now: number },
): Piece[] {
  const pieces: Piece[] = []
  const newest = new Map<string, Piece>() // by look
  const add = (bar: Bar, start: number, end: number) => {
    const from = scale.x(start)
    const to = Math.max(from + 2, scale.x(end))
    if (to < view.from || from > view.to) return
    const look = bar.kind + bar.state
    const same = newest.get(look)
    if (same && from - same.from < APART[bar.kind]) {
      if (to > same.to) Object.assign(same, { bar, to })
      return
    }
    // What a later bar covers to the end is not seen.
    const before = pieces.at(-1)
    if (before && before.to > from && before.to <= to) before.to = from
    const piece = { bar, from, to }
    newest.set(look, piece)
    pieces.push(piece)
  }
  for (const bar of bars) {
    const end = bar.end ?? view.now
    let start = bar.start
    for (const wait of bar.waits ?? []) {
      if (start < wait.start) add(bar, start, wait.start)
      add(wait, wait.start, wait.end ?? view.now)
      start = Math.max(start, wait.end ?? view.now)
    }
    if (start < end || !bar.waits) add(bar, start, end)
  }
  return pieces
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
