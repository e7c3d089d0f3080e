import { barLine, unionDuration, type Bar } from './timeline'
import { AXIS, BAR, firstBarFrom, TRACK, type LaneRow } from './layout'
import { formatOffset, type Gap, type TimeScale } from './timeScale'
import { formatLongDuration } from '../../lib/format/clock'
import { barName, escapeInvisible } from './labels'
import { drawHatching } from '../../lib/ui/hatching'
import { timelineText } from './text'

export const THEME = {
  fg: 'var(--fg)',
  fg2: 'var(--fg2)',
  fg3: 'var(--fg3)',
  line: 'var(--line)',
  soft: 'var(--line-soft)',
  surface: 'var(--surface)',
  sunken: 'var(--sunken)',
  call: 'light-dark(#e6e9ed, #2f353e)',
  edge: 'light-dark(#878d93, #8b919b)',
  accent: 'var(--accent)',
  wait: 'var(--wait)',
  waitTint: 'var(--wait-tint)',
  no: 'var(--no)',
  noTint: 'var(--no-tint)',
  fail: 'var(--fail)',
  failTint: 'var(--fail-tint)',
}
export type ThemeColors = Record<keyof typeof THEME, string>

export interface Scene {
  width: number
  height: number
  /** The scroll offsets, in px. */
  left: number
  top: number
  scale: TimeScale
  rows: readonly LaneRow[]
  /** The bottom of the last lane. */
  bottom: number
  now: number
  selected: Bar | undefined
  hovered: Bar | undefined
  /** The time range visible in the list of turns. */
  listed: { from: number; to: number } | undefined
  prompts: readonly Bar[]
  colors: ThemeColors
  font: string
}

type Pen = CanvasRenderingContext2D

/** Draws the visible part of a timeline. */
export function drawTimeline(pen: Pen, scene: Scene): void {
  const { width, height, colors } = scene
  pen.clearRect(0, 0, width, height)
  for (const b of scene.scale.gaps) if (!b.covered) drawGap(pen, scene, b)
  setFont(pen, `12px ${scene.font}`)
  pen.textBaseline = 'middle'
  pen.direction = 'ltr'
  pen.save()
  pen.beginPath()
  pen.rect(0, AXIS, width, height - AXIS)
  pen.clip()
  drawGrid(pen, scene)
  for (const row of scene.rows) drawLane(pen, scene, row)
  pen.restore()
  for (const b of scene.scale.gaps) if (b.covered) drawGap(pen, scene, b)
  drawAxis(pen, scene)
  pen.fillStyle = colors.line
  pen.fillRect(0, AXIS - 1, width, 1)
  if (scene.listed) drawListedRange(pen, scene, scene.listed)
}

function drawGrid(pen: Pen, p: Scene): void {
  pen.fillStyle = p.colors.soft
  for (const t of p.scale.ticks(p.left, p.left + p.width, 84)) {
    pen.fillRect(Math.round(p.scale.x(t) - p.left), AXIS, 1, p.height)
  }
  for (const row of p.rows) pen.fillRect(0, AXIS + row.top + row.height - p.top - 1, p.width, 1)
  pen.fillStyle = p.colors.line
  let last = -Infinity
  for (let i = firstBarFrom(p.prompts, p.scale.t(p.left)); i < p.prompts.length; i++) {
    const x = p.scale.x(p.prompts[i]?.start ?? 0) - p.left
    if (x > p.width) break
    if (x - last < 6) continue
    pen.fillRect(Math.round(x), AXIS, 1, p.height)
    last = x
  }
}

function drawAxis(pen: Pen, p: Scene): void {
  setFont(pen, `11px ${p.font}`)
  pen.fillStyle = p.colors.fg3
  const busy: [number, number][] = []
  for (const b of p.scale.gaps) {
    const [from, to] = [p.scale.x(b.from) - p.left, p.scale.x(b.to) - p.left]
    const label = formatLongDuration(b.to - b.from)
      .split(' ')
      .slice(0, 2)
      .join(' ')
    const width = pen.measureText(label).width
    if (to < 0 || from > p.width || to - from < 20) continue
    const x = (from + to - width) / 2
    pen.fillText(label, x, AXIS / 2 - 1)
    busy.push([x - 6, x + width + 6])
  }
  for (const t of p.scale.ticks(p.left, p.left + p.width, 84)) {
    const label = formatOffset(t - p.scale.start)
    const x = p.scale.x(t) - p.left + (t === p.scale.start ? 4 : 5)
    const end = x + pen.measureText(label).width
    if (end > p.width || busy.some(([a, b]) => x < b && end > a)) continue
    pen.fillText(label, x, AXIS / 2 - 1)
  }
}

/** Marks the time range of the list of turns on the axis. */
function drawListedRange(pen: Pen, p: Scene, { from, to }: { from: number; to: number }): void {
  const x = Math.max(-2, p.scale.x(from) - p.left)
  const end = Math.min(p.width + 2, p.scale.x(to) - p.left)
  if (end < x) return
  pen.fillStyle = p.colors.accent
  pen.fillRect(x, AXIS - 3, Math.max(4, end - x), 3)
}

function drawGap(pen: Pen, p: Scene, b: Gap): void {
  const from = p.scale.x(b.from) - p.left
  const to = p.scale.x(b.to) - p.left
  if (to < 0 || from > p.width || to - from < 3) return
  const [left, right] = [from + 1.5, to - 1.5]
  const [tooth, deep] = [7, Math.min(4, (to - from) / 6)]
  pen.beginPath()
  pen.moveTo(left, 0)
  const bottom = Math.min(p.height, AXIS + p.bottom)
  for (let y = 0, i = 0; y <= bottom; y += tooth, i++) pen.lineTo(left + (i % 2 ? deep : 0), y)
  for (let y = bottom, i = 0; y >= 0; y -= tooth, i++) pen.lineTo(right - (i % 2 ? deep : 0), y)
  pen.closePath()
  pen.fillStyle = p.colors.sunken
  pen.fill()
  pen.strokeStyle = p.colors.line
  pen.lineWidth = 1
  pen.stroke()
  if (!b.covered || to - from < 18) return
  pen.fillStyle = p.colors.fg3
  for (const row of p.rows) {
    for (let i = 0; i < row.lane.tracks.length; i++) {
      const y = AXIS + row.tracks + i * TRACK + TRACK / 2 - p.top
      const continuing = row.lane.tracks[i]?.[firstBarFrom(row.lane.tracks[i] ?? [], b.to)]
      if (continuing && continuing.start <= b.from) pen.fillText('…', (from + to) / 2 - 5, y - 2)
    }
  }
}

function drawLane(pen: Pen, p: Scene, row: LaneRow): void {
  const y = AXIS + row.top - p.top
  if (y > p.height || y + row.height < AXIS) return
  drawLifetime(pen, p, row)
  row.lane.tracks.forEach((track, i) => drawTrack(pen, p, track, AXIS + row.tracks + i * TRACK - p.top))
  drawMarks(pen, p, row.lane.marks, AXIS + row.marks - p.top)
}

/** Draws a line from the start to the end of a subagent. */
function drawLifetime(pen: Pen, p: Scene, { lane, marks }: LaneRow): void {
  if (lane.key === '' || lane.marks.length === 0) return
  const from = Math.max(0, p.scale.x(lane.start) - p.left)
  const to = Math.min(p.width, p.scale.x(lane.end ?? p.scale.end) - p.left)
  if (to <= from) return
  pen.fillStyle = p.colors.line
  pen.fillRect(from, Math.round(AXIS + marks - p.top) - 1, to - from, 2)
}

function drawTrack(pen: Pen, p: Scene, track: readonly Bar[], y: number): void {
  const first = firstBarFrom(track, p.scale.t(p.left))
  const seen = visibleEnds(p, track, first)
  let last = -Infinity
  for (let i = 0; i < seen.length; i++) {
    const bar = track[first + i] as Bar
    const { from, to } = barExtent(p, bar)
    // Skip a bar that another one hides, unless its state is unusual.
    if (to <= last + 0.5 && bar.state === 'ok' && bar !== p.selected) continue
    const until = Math.min(to, seen[i] ?? to)
    const plain = (bar.state === 'ok' || bar.state === 'running') && bar !== p.selected && bar !== p.hovered
    const sliver = plain && until < to ? until - Math.max(from, 0) : Infinity
    if (sliver < 2) continue
    drawBar(pen, p, bar, { x: from, y, w: sliver < 4 ? sliver : to - from, seen: until })
    const next = track[first + i + 1]
    const free = (next ? p.scale.x(next.start) - p.left : p.width) - 4
    drawLabelBeside(pen, p, bar, { x: to, y, w: to - from, free })
    last = to
  }
}

function barExtent(p: Scene, bar: Bar): { from: number; to: number } {
  const from = p.scale.x(bar.start) - p.left
  return { from, to: Math.max(from + 2, p.scale.x(bar.end ?? p.now) - p.left) }
}

/**
 * For each visible bar of a track, the x up to which it is visible. Bars overlap if no track
 * was free for them, and a later one hides the rest of the earlier ones.
 */
function visibleEnds(p: Scene, track: readonly Bar[], first: number): number[] {
  let end = first
  while (end < track.length && p.scale.x(track[end]?.start ?? 0) - p.left <= p.width) end++
  const seen: number[] = new Array<number>(end - first)
  let cover = { from: Infinity, to: -Infinity }
  for (let i = end - 1; i >= first; i--) {
    const bar = track[i] as Bar
    // The exact extent: the minimum width of 2 px hides nothing.
    const [from, to] = [p.scale.x(bar.start) - p.left, p.scale.x(bar.end ?? p.now) - p.left]
    seen[i - first] = cover.to >= to ? cover.from : Infinity
    if (to >= cover.to) cover = { from, to }
  }
  return seen
}

interface Box {
  x: number
  y: number
  w: number
}

/** A box that another one hides from `seen` on. */
interface VisibleBox extends Box {
  seen: number
}

function barColors(bar: Bar, c: ThemeColors): { fill: string; edge: string; ink: string } {
  switch (bar.state) {
    case 'failed':
      return { fill: c.failTint, edge: c.fail, ink: c.fail }
    case 'denied':
      return { fill: c.noTint, edge: c.no, ink: c.no }
    case 'lost':
      return { fill: c.surface, edge: c.fg3, ink: c.fg2 }
    case 'waiting':
      return { fill: c.waitTint, edge: c.wait, ink: c.wait }
    default:
      if (bar.kind === 'call' && bar.state === 'unanswered') return barColors({ ...bar, state: 'lost' }, c)
      return bar.kind === 'wait'
        ? { fill: c.waitTint, edge: c.wait, ink: c.wait }
        : { fill: c.call, edge: c.edge, ink: c.fg }
  }
}

function drawBar(pen: Pen, p: Scene, bar: Bar, box: VisibleBox): void {
  const { colors: c } = p
  const { fill, edge, ink } = barColors(bar, c)
  const y = box.y + (TRACK - BAR) / 2
  if (box.w < 4) {
    pen.fillStyle = edge
    pen.fillRect(box.x, y, Math.max(2, box.w - 0.5), BAR)
    if (bar === p.selected) drawOutline(pen, p, { ...box, y }, 2)
    return
  }
  // Half a pixel separates neighbors.
  const x = Math.max(box.x, -4)
  const w = Math.min(box.x + box.w - 0.5, p.width + 4) - x
  const open = bar.end === undefined
  pen.beginPath()
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, open ? [3, 0, 0, 3] : 3)
  pen.fillStyle = fill
  pen.fill()
  if (bar.kind === 'wait') drawHatching(pen, { x, y, w, h: BAR }, c.wait)
  for (const wait of bar.waits ?? []) drawWaitWithin(pen, p, wait, y)
  pen.beginPath()
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, open ? [3, 0, 0, 3] : 3)
  pen.setLineDash(bar.state === 'lost' ? [3, 2] : [])
  pen.strokeStyle = edge
  pen.lineWidth = bar.state === 'waiting' ? 1.5 : 1
  pen.stroke()
  pen.setLineDash([])
  if (open) drawArrow(pen, x + w, y, edge)
  drawLabel(pen, p, bar, { x, y, w, seen: box.seen, ink, fill })
  if (bar === p.selected) drawOutline(pen, p, { x, y, w }, 2)
  else if (bar === p.hovered) drawOutline(pen, p, { x, y, w }, 1)
}

function drawWaitWithin(pen: Pen, p: Scene, wait: Bar, y: number): void {
  const from = Math.max(-4, p.scale.x(wait.start) - p.left)
  const to = Math.min(p.width + 4, Math.max(from + 2, p.scale.x(wait.end ?? p.now) - p.left))
  if (to < from) return
  pen.fillStyle = p.colors.waitTint
  pen.fillRect(from, y + 1, to - from, BAR - 2)
  drawHatching(pen, { x: from, y, w: to - from, h: BAR }, p.colors.wait)
  drawWaitLabel(pen, p, wait, {
    x: from,
    y: y + BAR / 2 + 0.5,
    w: to - from,
    ink: p.colors.wait,
    fill: p.colors.waitTint,
  })
  if (wait === p.selected) drawOutline(pen, p, { x: from, y, w: to - from }, 2)
}

/** An arrow at the end of a bar that has not ended. */
function drawArrow(pen: Pen, x: number, y: number, color: string): void {
  pen.fillStyle = color
  pen.beginPath()
  pen.moveTo(x, y)
  pen.lineTo(x + 5, y + BAR / 2)
  pen.lineTo(x, y + BAR)
  pen.closePath()
  pen.fill()
}

function drawOutline(pen: Pen, p: Scene, { x, y, w }: Box, thick: number): void {
  pen.strokeStyle = thick > 1 ? p.colors.accent : p.colors.fg3
  pen.lineWidth = thick
  pen.beginPath()
  pen.roundRect(x - 1, y - 1, w + 2, BAR + 2, 4)
  pen.stroke()
}

const stateSymbols: Partial<Record<Bar['state'], string>> = { failed: '✕', denied: '⊘', lost: '?' }

function drawLabel(pen: Pen, p: Scene, bar: Bar, box: VisibleBox & { ink: string; fill: string }): void {
  // The label goes where the call itself is visible, between or after its waits.
  const shown = Math.max(box.x, 0)
  const end = Math.min(box.x + box.w, box.seen, p.width)
  let from = shown
  for (const wait of bar.waits ?? []) {
    const [a, b] = [p.scale.x(wait.start) - p.left, p.scale.x(wait.end ?? p.now) - p.left]
    if (a - from > end - Math.max(from, b))
      return drawLabelInside(pen, p, bar, { ...box, x: from, w: a - from })
    from = Math.max(from, b)
  }
  drawLabelInside(pen, p, bar, { ...box, x: from, w: end - from })
}

/** The minimum width of a bar for a label inside it. */
const minLabelWidth = (bar: Bar, width: number) =>
  10 + (stateSymbols[bar.state] ? 13 : 0) + Math.min(width, 34)

/** Draws the name to the right of a bar that is too short for it, if there is room. */
function drawLabelBeside(pen: Pen, p: Scene, bar: Bar, { x, y, w, free }: Box & { free: number }): void {
  if (bar.kind === 'wait' || bar.end === undefined || free - x < 28) return
  setFont(pen, `12px ${p.font}`)
  const name = escapeInvisible(barName(bar))
  const width = textWidth(pen, name)
  if (w >= minLabelWidth(bar, width) || free - x - 5 < Math.min(width, 34)) return
  pen.fillStyle = p.colors.fg2
  pen.fillText(clipText(pen, name, free - x - 5), x + 5, y + TRACK / 2 + 0.5)
}

function drawLabelInside(pen: Pen, p: Scene, bar: Bar, box: Box & { ink: string; fill: string }): void {
  const sign = stateSymbols[bar.state]
  const room = box.w - 10
  const y = box.y + BAR / 2 + 0.5
  if (bar.kind === 'wait') return drawWaitLabel(pen, p, bar, { ...box, y })
  let x = box.x + 5
  if (sign && room >= 8) {
    setFont(pen, `600 11px ${p.font}`)
    pen.fillStyle = box.ink
    pen.fillText(sign, x, y)
    x += 13
  }
  const end = box.x + box.w - 5
  setFont(pen, `550 12px ${p.font}`)
  pen.fillStyle = box.ink
  const name = escapeInvisible(barName(bar))
  const width = textWidth(pen, name)
  if (end - x < Math.min(width, 34)) return
  pen.fillText(clipText(pen, name, end - x), x, y)
  x += width + 6
  if (end - x < 40) return
  setFont(pen, `12px ${p.font}`)
  pen.fillStyle = bar.state === 'ok' || bar.state === 'running' ? p.colors.fg2 : box.ink
  pen.fillText(clipText(pen, escapeInvisible(barLine(bar)), end - x), x, y)
}

function drawWaitLabel(pen: Pen, p: Scene, bar: Bar, box: Box & { ink: string; fill: string }): void {
  setFont(pen, `550 12px ${p.font}`)
  const time = formatLongDuration(unionDuration([bar], p.now))
  const about = bar.tool ? [timelineText.toolWaited(escapeInvisible(bar.tool), time)] : []
  const text = [...about, timelineText.waited(time), time].find((t) => textWidth(pen, t) + 18 <= box.w)
  if (!text) return
  const width = textWidth(pen, text)
  pen.fillStyle = box.fill
  pen.beginPath()
  pen.roundRect(box.x + 4, box.y - 8, width + 10, 15, 3)
  pen.fill()
  pen.fillStyle = box.ink
  pen.fillText(text, box.x + 9, box.y)
}

function drawMarks(pen: Pen, p: Scene, marks: readonly Bar[], y: number): void {
  let last = -Infinity
  for (let i = firstBarFrom(marks, p.scale.t(p.left - 8)); i < marks.length; i++) {
    const bar = marks[i] as Bar
    const x = p.scale.x(bar.start) - p.left
    if (x > p.width + 8) break
    const important = bar.state === 'failed' || bar === p.selected
    if (x - last < 11 && !important) {
      if (x - last < 2) continue
      pen.fillStyle = p.colors.edge
      pen.fillRect(x - 0.5, y - 4, 1, 8)
      continue
    }
    drawMark(pen, p, bar, { x: Math.max(x, 5 - Math.min(0, p.left)), y })
    last = x
  }
}

/** Shapes: bubble = prompt, triangle = failure, circle = notification, square = stop, bar = session start or end. */
function drawMark(pen: Pen, p: Scene, bar: Bar, { x, y }: { x: number; y: number }): void {
  const { colors: c } = p
  pen.fillStyle = pen.strokeStyle = bar.state === 'failed' ? c.fail : c.fg2
  pen.lineWidth = 1.5
  pen.beginPath()
  const type = bar.event.hook_event_type
  if (bar.state === 'failed') {
    pen.moveTo(x, y - 5)
    pen.lineTo(x + 5.5, y + 5)
    pen.lineTo(x - 5.5, y + 5)
    pen.closePath()
    pen.fill()
  } else if (bar.style === 'prompt') {
    pen.roundRect(x - 5, y - 5, 11, 8, 2)
    pen.moveTo(x - 3, y + 2)
    pen.lineTo(x - 3, y + 6)
    pen.lineTo(x + 1, y + 2)
    pen.fill()
  } else if (type === 'Stop' || type === 'SubagentStop') {
    pen.rect(x - 3.5, y - 3.5, 7, 7)
    fillHollow(pen, c.surface)
  } else if (bar.style === 'session') {
    pen.roundRect(x - 1.5, y - 5, 3, 10, 1)
    pen.fill()
  } else if (bar.style === 'note') {
    pen.arc(x, y, 4, 0, Math.PI * 2)
    fillHollow(pen, c.surface)
  } else {
    pen.arc(x, y, 2.5, 0, Math.PI * 2)
    pen.fill()
  }
  if (bar !== p.selected && bar !== p.hovered) return
  pen.strokeStyle = bar === p.selected ? c.accent : c.fg3
  pen.lineWidth = bar === p.selected ? 2 : 1
  pen.beginPath()
  pen.arc(x, y, 8.5, 0, Math.PI * 2)
  pen.stroke()
}

function fillHollow(pen: Pen, background: string): void {
  pen.fillStyle = background
  pen.fill()
  pen.stroke()
}

let currentFont = '' // reading pen.font is slower than all other drawing

function setFont(pen: Pen, next: string): void {
  pen.font = currentFont = next
}

const widths = new Map<string, number>() // font and text → px

function textWidth(pen: Pen, text: string): number {
  const key = `${currentFont}\n${text}`
  let width = widths.get(key)
  if (width === undefined) {
    if (widths.size > 5000) widths.clear()
    width = pen.measureText(text).width
    widths.set(key, width)
  }
  return width
}

function clipText(pen: Pen, text: string, room: number): string {
  const width = textWidth(pen, text)
  if (width <= room) return text
  let n = Math.floor((text.length * room) / width)
  while (n > 0 && textWidth(pen, text.slice(0, n) + '…') > room) n--
  return n > 0 ? text.slice(0, n) + '…' : ''
}
