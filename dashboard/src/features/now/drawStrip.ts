import { drawHatching } from '../../lib/ui/hatching'
import { BUCKETS, type Wait } from './laneModel'

export const STRIP_THEME = {
  line: 'var(--line)',
  bar: 'var(--fg3)',
  wait: 'var(--wait)',
  waitTint: 'var(--wait-tint)',
}
export type StripColors = Record<keyof typeof STRIP_THEME, string>

export interface StripScene {
  width: number
  height: number
  /** The start of the first bucket and the end of the last one, Unix ms. */
  from: number
  to: number
  /** Before this time the hub knows nothing. */
  knownFrom: number
  counts: readonly number[]
  waits: readonly Wait[]
  now: number
  colors: StripColors
}

/** The height of a bar as a share: the first events count most, so that one is visible beside hundreds. */
export const barShare = (n: number): number => (n > 0 ? Math.min(1, 0.25 + Math.log10(n) * 0.375) : 0)

/** Draws ten minutes: a bar per bucket with events, and hatched times in which a person was waited for. */
export function drawStrip(pen: CanvasRenderingContext2D, scene: StripScene): void {
  const { width, height, from, to, now, colors } = scene
  const x = (at: number) => ((Math.min(Math.max(at, from), to) - from) / (to - from)) * width
  pen.clearRect(0, 0, width, height)
  pen.fillStyle = colors.line
  pen.fillRect(x(scene.knownFrom), height - 1, width - x(scene.knownFrom), 1)
  for (const wait of scene.waits) {
    const box = { x: x(wait.from), y: 0, w: x(wait.to ?? now) - x(wait.from), h: height }
    if (box.w <= 0) continue
    pen.fillStyle = colors.waitTint
    pen.fillRect(box.x, 0, Math.max(2, box.w), height)
    drawHatching(pen, box, colors.wait)
  }
  pen.fillStyle = colors.bar
  const step = width / BUCKETS
  for (const [i, n] of scene.counts.entries()) {
    const h = barShare(n) * (height - 2)
    if (h > 0) pen.fillRect(i * step + 0.5, height - 1 - h, Math.max(1, step - 1), h)
  }
}
