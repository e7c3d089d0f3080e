/** What the person does with mouse and fingers; x and y are places on the canvas. */
export interface GestureHandlers {
  zoom(x: number, by: number): void
  pan(by: number): void
  tap(x: number, y: number): void
  hover(x: number, y: number): void
  leave(): void
  /** Whether the wheel has lanes to scroll, so that it zooms with Ctrl only. */
  scrolls(): boolean
}

const SLOP = 4 // px a press may move and still be a tap

interface Point {
  x: number
  y: number
}

/** Turns wheel, drag and pinch into zoom and pan. */
export class Gestures {
  private readonly down = new Map<number, Point>() // pointer → where it is
  private dragged = 0
  private held = false

  constructor(private readonly handlers: GestureHandlers) {}

  /** Listens to an element; inset: how far to the right the canvas begins. Returns how to stop. */
  listen(on: Element, inset: () => number): () => void {
    const place = (e: MouseEvent): Point => {
      const box = on.getBoundingClientRect()
      return { x: e.clientX - box.left - inset(), y: e.clientY - box.top }
    }
    const target = on as HTMLElement
    const stop = new AbortController()
    const { signal } = stop
    target.addEventListener('wheel', (e) => this.wheel(e, place(e)), { passive: false, signal })
    target.addEventListener('pointerdown', (e) => this.press(e, place(e)), { signal })
    target.addEventListener('pointermove', (e) => this.move(e, place(e), target), { signal })
    target.addEventListener('pointerup', (e) => this.release(e, place(e)), { signal })
    target.addEventListener('pointercancel', (e) => this.down.delete(e.pointerId), { signal })
    target.addEventListener('pointerleave', () => this.handlers.leave(), { signal })
    return () => stop.abort()
  }

  private wheel(e: WheelEvent, at: Point): void {
    const unit = e.deltaMode === 1 ? 16 : 1
    const sideways = e.shiftKey ? e.deltaX || e.deltaY : e.deltaX
    const zooms = e.ctrlKey || e.metaKey
    if (!zooms && Math.abs(sideways) > Math.abs(e.shiftKey ? 0 : e.deltaY)) this.handlers.pan(sideways * unit)
    // A pinch on a touchpad comes as small steps of the wheel with Ctrl.
    else if (zooms || !this.handlers.scrolls())
      this.handlers.zoom(at.x, Math.exp((-e.deltaY * unit) / (e.ctrlKey ? 120 : 400)))
    else return
    e.preventDefault()
    this.handlers.leave()
  }

  private press(e: PointerEvent, at: Point): void {
    if (e.pointerType === 'mouse' && e.button !== 0) return
    if (this.down.size === 0) this.dragged = 0
    this.down.set(e.pointerId, at)
    if (this.down.size > 1) this.dragged = Infinity // a pinch is no tap
  }

  private move(e: PointerEvent, at: Point, on: HTMLElement): void {
    const before = this.down.get(e.pointerId)
    if (!before) {
      if (e.pointerType === 'mouse') this.handlers.hover(at.x, at.y)
      return
    }
    const other = [...this.down].find(([id]) => id !== e.pointerId)?.[1]
    this.down.set(e.pointerId, at)
    if (other) {
      const was = Math.hypot(before.x - other.x, before.y - other.y)
      const is = Math.hypot(at.x - other.x, at.y - other.y)
      this.handlers.pan((before.x - at.x) / 2)
      if (was > 10 && is > 10) this.handlers.zoom((at.x + other.x) / 2, is / was)
      return
    }
    this.dragged += Math.abs(at.x - before.x) + Math.abs(at.y - before.y)
    if (this.dragged <= SLOP) return
    if (!this.held) {
      this.held = true
      on.setPointerCapture(e.pointerId)
      this.handlers.leave()
    }
    this.handlers.pan(before.x - at.x)
  }

  private release(e: PointerEvent, at: Point): void {
    const pressed = this.down.delete(e.pointerId)
    this.held = false
    if (pressed && this.down.size === 0 && this.dragged <= SLOP) this.handlers.tap(at.x, at.y)
  }
}
