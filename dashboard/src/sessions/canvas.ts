import { barLine, unionDuration, type Bar } from './timeline'
import { AXIS, BAR, firstBarFrom, TRACK, type LaneRow } from './layout'
import { formatOffset, type Gap, type TimeScale } from './timeScale'
import { formatDuration, barName, escapeInvisible } from './labels'

/** The colours of the theme, resolved. */
export interface Colours {
  fg: string
  fg2: string
  fg3: string
  line: string
  soft: string
  surface: string
  sunken: string
  call: string
  edge: string
  accent: string
  wait: string
  waitTint: string
  no: string
  noTint: string
  fail: string
  failTint: string
}

export interface Picture {
  width: number
  height: number
  /** What of the whole width and of the lanes is scrolled out. */
  left: number
  top: number
  scale: TimeScale
  rows: readonly LaneRow[]
  /** Where the last lane ends. */
  bottom: number
  now: number
  selected: Bar | undefined
  hovered: Bar | undefined
  /** The time that the list below shows. */
  listed: { from: number; to: number } | undefined
  prompts: readonly Bar[]
  colours: Colours
  font: string
}

type Pen = CanvasRenderingContext2D

/** Draws everything that is in sight. */
export function draw(pen: Pen, picture: Picture): void {
  const { width, height, colours } = picture
  pen.clearRect(0, 0, width, height)
  for (const b of picture.scale.gaps) if (!b.covered) drawBreak(pen, picture, b)
  write(pen, `12px ${picture.font}`)
  pen.textBaseline = 'middle'
  pen.direction = 'ltr'
  pen.save()
  pen.beginPath()
  pen.rect(0, AXIS, width, height - AXIS)
  pen.clip()
  grid(pen, picture)
  for (const strip of picture.rows) drawStrip(pen, picture, strip)
  pen.restore()
  for (const b of picture.scale.gaps) if (b.covered) drawBreak(pen, picture, b)
  axis(pen, picture)
  pen.fillStyle = colours.line
  pen.fillRect(0, AXIS - 1, width, 1)
  if (picture.listed) drawListed(pen, picture, picture.listed)
}

function grid(pen: Pen, p: Picture): void {
  pen.fillStyle = p.colours.soft
  for (const t of p.scale.ticks(p.left, p.left + p.width, 84)) {
    pen.fillRect(Math.round(p.scale.x(t) - p.left), AXIS, 1, p.height)
  }
  for (const strip of p.rows) pen.fillRect(0, AXIS + strip.top + strip.height - p.top - 1, p.width, 1)
  pen.fillStyle = p.colours.line
  let last = -Infinity
  for (let i = firstBarFrom(p.prompts, p.scale.t(p.left)); i < p.prompts.length; i++) {
    const x = p.scale.x(p.prompts[i]?.start ?? 0) - p.left
    if (x > p.width) break
    if (x - last < 6) continue
    pen.fillRect(Math.round(x), AXIS, 1, p.height)
    last = x
  }
}

function axis(pen: Pen, p: Picture): void {
  write(pen, `11px ${p.font}`)
  pen.fillStyle = p.colours.fg3
  const busy: [number, number][] = []
  for (const b of p.scale.gaps) {
    const [from, to] = [p.scale.x(b.from) - p.left, p.scale.x(b.to) - p.left]
    const label = formatDuration(b.to - b.from)
      .split(' ')
      .slice(0, 2)
      .join(' ')
    const wide = pen.measureText(label).width
    if (to < 0 || from > p.width || to - from < 20) continue
    const x = (from + to - wide) / 2
    pen.fillText(label, x, AXIS / 2 - 1)
    busy.push([x - 6, x + wide + 6])
  }
  for (const t of p.scale.ticks(p.left, p.left + p.width, 84)) {
    const label = formatOffset(t - p.scale.start)
    const x = p.scale.x(t) - p.left + (t === p.scale.start ? 4 : 5)
    const end = x + pen.measureText(label).width
    if (end > p.width || busy.some(([a, b]) => x < b && end > a)) continue
    pen.fillText(label, x, AXIS / 2 - 1)
  }
}

/** The bracket on the axis: what of the session stands in the list. */
function drawListed(pen: Pen, p: Picture, { from, to }: { from: number; to: number }): void {
  const x = Math.max(-2, p.scale.x(from) - p.left)
  const end = Math.min(p.width + 2, p.scale.x(to) - p.left)
  if (end < x) return
  pen.fillStyle = p.colours.accent
  pen.fillRect(x, AXIS - 3, Math.max(4, end - x), 3)
}

function drawBreak(pen: Pen, p: Picture, b: Gap): void {
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
  pen.fillStyle = p.colours.sunken
  pen.fill()
  pen.strokeStyle = p.colours.line
  pen.lineWidth = 1
  pen.stroke()
  if (!b.covered || to - from < 18) return
  pen.fillStyle = p.colours.fg3
  for (const strip of p.rows) {
    for (let i = 0; i < strip.lane.tracks.length; i++) {
      const y = AXIS + strip.tracks + i * TRACK + TRACK / 2 - p.top
      const going = strip.lane.tracks[i]?.[firstBarFrom(strip.lane.tracks[i] ?? [], b.to)]
      if (going && going.start <= b.from) pen.fillText('…', (from + to) / 2 - 5, y - 2)
    }
  }
}

function drawStrip(pen: Pen, p: Picture, strip: LaneRow): void {
  const y = AXIS + strip.top - p.top
  if (y > p.height || y + strip.height < AXIS) return
  drawLife(pen, p, strip)
  strip.lane.tracks.forEach((track, i) => drawTrack(pen, p, track, AXIS + strip.tracks + i * TRACK - p.top))
  drawMarks(pen, p, strip.lane.marks, AXIS + strip.marks - p.top)
}

/** How long a subagent lived. */
function drawLife(pen: Pen, p: Picture, { lane, marks }: LaneRow): void {
  if (lane.key === '' || lane.marks.length === 0) return
  const from = Math.max(0, p.scale.x(lane.start) - p.left)
  const to = Math.min(p.width, p.scale.x(lane.end ?? p.scale.end) - p.left)
  if (to <= from) return
  pen.fillStyle = p.colours.line
  pen.fillRect(from, Math.round(AXIS + marks - p.top) - 1, to - from, 2)
}

function drawTrack(pen: Pen, p: Picture, track: readonly Bar[], y: number): void {
  const first = firstBarFrom(track, p.scale.t(p.left))
  const seen = uncovered(p, track, first)
  let last = -Infinity
  for (let i = 0; i < seen.length; i++) {
    const bar = track[first + i] as Bar
    const { from, to } = placeOf(p, bar)
    // What another bar hides already; what matters is drawn all the same.
    if (to <= last + 0.5 && bar.state === 'ok' && bar !== p.selected) continue
    const until = Math.min(to, seen[i] ?? to)
    const plain = (bar.state === 'ok' || bar.state === 'running') && bar !== p.selected && bar !== p.hovered
    const sliver = plain && until < to ? until - Math.max(from, 0) : Infinity
    if (sliver < 2) continue
    drawBar(pen, p, bar, { x: from, y, w: sliver < 4 ? sliver : to - from, seen: until })
    const next = track[first + i + 1]
    const free = (next ? p.scale.x(next.start) - p.left : p.width) - 4
    beside(pen, p, bar, { x: to, y, w: to - from, free })
    last = to
  }
}

function placeOf(p: Picture, bar: Bar): { from: number; to: number } {
  const from = p.scale.x(bar.start) - p.left
  return { from, to: Math.max(from + 2, p.scale.x(bar.end ?? p.now) - p.left) }
}

/**
 * Up to where each bar of a track that is in sight can be seen: those for which no
 * track was free lie over each other, and one hides the rest of those before it.
 */
function uncovered(p: Picture, track: readonly Bar[], first: number): number[] {
  let end = first
  while (end < track.length && p.scale.x(track[end]?.start ?? 0) - p.left <= p.width) end++
  const seen: number[] = new Array<number>(end - first)
  let cover = { from: Infinity, to: -Infinity }
  for (let i = end - 1; i >= first; i--) {
    const bar = track[i] as Bar
    // As long as it is: that the shortest is drawn with 2 px hides nothing.
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

/** A box of which another one hides what comes after `seen`. */
interface Covered extends Box {
  seen: number
}

function look(bar: Bar, c: Colours): { fill: string; edge: string; ink: string } {
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
      return bar.kind === 'wait'
        ? { fill: c.waitTint, edge: c.wait, ink: c.wait }
        : { fill: c.call, edge: c.edge, ink: c.fg }
  }
}

function drawBar(pen: Pen, p: Picture, bar: Bar, box: Covered): void {
  const { colours: c } = p
  const { fill, edge, ink } = look(bar, c)
  const y = box.y + (TRACK - BAR) / 2
  if (box.w < 4) {
    pen.fillStyle = edge
    pen.fillRect(box.x, y, Math.max(2, box.w - 0.5), BAR)
    if (bar === p.selected) outline(pen, p, { ...box, y }, 2)
    return
  }
  // A hair of the ground keeps neighbours apart.
  const x = Math.max(box.x, -4)
  const w = Math.min(box.x + box.w - 0.5, p.width + 4) - x
  const open = bar.end === undefined
  pen.beginPath()
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, open ? [3, 0, 0, 3] : 3)
  pen.fillStyle = fill
  pen.fill()
  if (bar.kind === 'wait') hatch(pen, { x, y, w }, c.wait)
  for (const wait of bar.waits ?? []) drawWaitWithin(pen, p, wait, y)
  pen.beginPath()
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, w - 1), BAR - 1, open ? [3, 0, 0, 3] : 3)
  pen.setLineDash(bar.state === 'lost' ? [3, 2] : [])
  pen.strokeStyle = edge
  pen.lineWidth = bar.state === 'waiting' ? 1.5 : 1
  pen.stroke()
  pen.setLineDash([])
  if (open) arrow(pen, x + w, y, edge)
  label(pen, p, bar, { x, y, w, seen: box.seen, ink, fill })
  if (bar === p.selected) outline(pen, p, { x, y, w }, 2)
  else if (bar === p.hovered) outline(pen, p, { x, y, w }, 1)
}

function drawWaitWithin(pen: Pen, p: Picture, wait: Bar, y: number): void {
  const from = Math.max(-4, p.scale.x(wait.start) - p.left)
  const to = Math.min(p.width + 4, Math.max(from + 2, p.scale.x(wait.end ?? p.now) - p.left))
  if (to < from) return
  pen.fillStyle = p.colours.waitTint
  pen.fillRect(from, y + 1, to - from, BAR - 2)
  hatch(pen, { x: from, y, w: to - from }, p.colours.wait)
  waitLabel(pen, p, wait, {
    x: from,
    y: y + BAR / 2 + 0.5,
    w: to - from,
    ink: p.colours.wait,
    fill: p.colours.waitTint,
  })
  if (wait === p.selected) outline(pen, p, { x: from, y, w: to - from }, 2)
}

/** Slanted lines: a human is waited for. */
function hatch(pen: Pen, { x, y, w }: Box, colour: string): void {
  pen.save()
  pen.beginPath()
  pen.rect(x + 1, y + 1, Math.max(0, w - 2), BAR - 2)
  pen.clip()
  pen.strokeStyle = colour
  pen.globalAlpha = 0.42
  pen.lineWidth = 1.25
  pen.beginPath()
  for (let at = Math.floor(x / 7) * 7 - BAR; at < x + w; at += 7) {
    pen.moveTo(at, y + BAR)
    pen.lineTo(at + BAR, y)
  }
  pen.stroke()
  pen.restore()
}

/** It goes on. */
function arrow(pen: Pen, x: number, y: number, colour: string): void {
  pen.fillStyle = colour
  pen.beginPath()
  pen.moveTo(x, y)
  pen.lineTo(x + 5, y + BAR / 2)
  pen.lineTo(x, y + BAR)
  pen.closePath()
  pen.fill()
}

function outline(pen: Pen, p: Picture, { x, y, w }: Box, thick: number): void {
  pen.strokeStyle = thick > 1 ? p.colours.accent : p.colours.fg3
  pen.lineWidth = thick
  pen.beginPath()
  pen.roundRect(x - 1, y - 1, w + 2, BAR + 2, 4)
  pen.stroke()
}

const signs: Partial<Record<Bar['state'], string>> = { failed: '✕', denied: '⊘', lost: '?' }

function label(pen: Pen, p: Picture, bar: Bar, box: Covered & { ink: string; fill: string }): void {
  // Words behind a wait within the call: they stand where the call itself is.
  const shown = Math.max(box.x, 0)
  const end = Math.min(box.x + box.w, box.seen, p.width)
  let from = shown
  for (const wait of bar.waits ?? []) {
    const [a, b] = [p.scale.x(wait.start) - p.left, p.scale.x(wait.end ?? p.now) - p.left]
    if (a - from > end - Math.max(from, b)) return fit(pen, p, bar, { ...box, x: from, w: a - from })
    from = Math.max(from, b)
  }
  fit(pen, p, bar, { ...box, x: from, w: end - from })
}

/** The room that a bar needs before its name is written into it. */
const needs = (bar: Bar, wide: number) => 10 + (signs[bar.state] ? 13 : 0) + Math.min(wide, 34)

/** The name right of a bar that is too short for it, where nothing else is. */
function beside(pen: Pen, p: Picture, bar: Bar, { x, y, w, free }: Box & { free: number }): void {
  if (bar.kind === 'wait' || bar.end === undefined || free - x < 28) return
  write(pen, `12px ${p.font}`)
  const name = escapeInvisible(barName(bar))
  const wide = measured(pen, name)
  if (w >= needs(bar, wide) || free - x - 5 < Math.min(wide, 34)) return
  pen.fillStyle = p.colours.fg2
  pen.fillText(clipped(pen, name, free - x - 5), x + 5, y + TRACK / 2 + 0.5)
}

function fit(pen: Pen, p: Picture, bar: Bar, box: Box & { ink: string; fill: string }): void {
  const sign = signs[bar.state]
  const room = box.w - 10
  const y = box.y + BAR / 2 + 0.5
  if (bar.kind === 'wait') return waitLabel(pen, p, bar, { ...box, y })
  let x = box.x + 5
  if (sign && room >= 8) {
    write(pen, `600 11px ${p.font}`)
    pen.fillStyle = box.ink
    pen.fillText(sign, x, y)
    x += 13
  }
  const end = box.x + box.w - 5
  write(pen, `550 12px ${p.font}`)
  pen.fillStyle = box.ink
  const name = escapeInvisible(barName(bar))
  const wide = measured(pen, name)
  if (end - x < Math.min(wide, 34)) return
  pen.fillText(clipped(pen, name, end - x), x, y)
  x += wide + 6
  if (end - x < 40) return
  write(pen, `12px ${p.font}`)
  pen.fillStyle = bar.state === 'ok' || bar.state === 'running' ? p.colours.fg2 : box.ink
  pen.fillText(clipped(pen, escapeInvisible(barLine(bar)), end - x), x, y)
}

function waitLabel(pen: Pen, p: Picture, bar: Bar, box: Box & { ink: string; fill: string }): void {
  write(pen, `550 12px ${p.font}`)
  const time = formatDuration(unionDuration([bar], p.now))
  const about = bar.tool ? [`${escapeInvisible(bar.tool)}: waited ${time}`] : []
  const text = [...about, `waited ${time}`, time].find((t) => measured(pen, t) + 18 <= box.w)
  if (!text) return
  const wide = measured(pen, text)
  pen.fillStyle = box.fill
  pen.beginPath()
  pen.roundRect(box.x + 4, box.y - 8, wide + 10, 15, 3)
  pen.fill()
  pen.fillStyle = box.ink
  pen.fillText(text, box.x + 9, box.y)
}

function drawMarks(pen: Pen, p: Picture, marks: readonly Bar[], y: number): void {
  let last = -Infinity
  for (let i = firstBarFrom(marks, p.scale.t(p.left - 8)); i < marks.length; i++) {
    const bar = marks[i] as Bar
    const x = p.scale.x(bar.start) - p.left
    if (x > p.width + 8) break
    const matters = bar.state === 'failed' || bar === p.selected
    if (x - last < 11 && !matters) {
      if (x - last < 2) continue
      pen.fillStyle = p.colours.edge
      pen.fillRect(x - 0.5, y - 4, 1, 8)
      continue
    }
    mark(pen, p, bar, { x: Math.max(x, 5 - Math.min(0, p.left)), y })
    last = x
  }
}

/** Shapes: a bubble for a prompt, a triangle for a failure, a bell's disc, a square for a stop, a bar for begin and end. */
function mark(pen: Pen, p: Picture, bar: Bar, { x, y }: { x: number; y: number }): void {
  const { colours: c } = p
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
    hollow(pen, c.surface)
  } else if (bar.style === 'session') {
    pen.roundRect(x - 1.5, y - 5, 3, 10, 1)
    pen.fill()
  } else if (bar.style === 'note') {
    pen.arc(x, y, 4, 0, Math.PI * 2)
    hollow(pen, c.surface)
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

function hollow(pen: Pen, ground: string): void {
  pen.fillStyle = ground
  pen.fill()
  pen.stroke()
}

let font = '' // the pen's: to ask it costs more than all the rest

function write(pen: Pen, next: string): void {
  pen.font = font = next
}

const widths = new Map<string, number>() // font and text → px

function measured(pen: Pen, text: string): number {
  const key = `${font}\n${text}`
  let width = widths.get(key)
  if (width === undefined) {
    if (widths.size > 5000) widths.clear()
    width = pen.measureText(text).width
    widths.set(key, width)
  }
  return width
}

function clipped(pen: Pen, text: string, room: number): string {
  const wide = measured(pen, text)
  if (wide <= room) return text
  let n = Math.floor((text.length * room) / wide)
  while (n > 0 && measured(pen, text.slice(0, n) + '…') > room) n--
  return n > 0 ? text.slice(0, n) + '…' : ''
}
