/** Handlers of mouse and touch gestures. x and y are canvas coordinates. */
export interface GestureHandlers {
  zoom(x: number, by: number): void
  pan(by: number): void
  tap(x: number, y: number): void
  hover(x: number, y: number): void
  leave(): void
  /** Reports whether the lanes scroll vertically, so the wheel zooms with Ctrl only. */
  scrolls(): boolean
}

const TAP_TOLERANCE = 4 // px that a tap may move

interface Point {
  x: number
  y: number
}

/** Translates wheel, drag, and pinch into zoom and pan. */
export class Gestures {
  private readonly pointers = new Map<number, Point>() // by pointer id
  private dragDistance = 0
  private isDragging = false

  constructor(private readonly handlers: GestureHandlers) {}

  /** Listens to an element. inset returns the left edge of the canvas. Returns a function that stops. */
  listen(on: Element, inset: () => number): () => void {
    const toPoint = (e: MouseEvent): Point => {
      const box = on.getBoundingClientRect()
      return { x: e.clientX - box.left - inset(), y: e.clientY - box.top }
    }
    const target = on as HTMLElement
    const stop = new AbortController()
    const { signal } = stop
    target.addEventListener('wheel', (e) => this.wheel(e, toPoint(e)), { passive: false, signal })
    target.addEventListener('pointerdown', (e) => this.press(e, toPoint(e)), { signal })
    target.addEventListener('pointermove', (e) => this.move(e, toPoint(e), target), { signal })
    target.addEventListener('pointerup', (e) => this.release(e, toPoint(e)), { signal })
    target.addEventListener('pointercancel', (e) => this.pointers.delete(e.pointerId), { signal })
    target.addEventListener('pointerleave', () => this.handlers.leave(), { signal })
    return () => stop.abort()
  }

  private wheel(e: WheelEvent, at: Point): void {
    const unit = e.deltaMode === 1 ? 16 : 1
    const sideways = e.shiftKey ? e.deltaX || e.deltaY : e.deltaX
    const zooms = e.ctrlKey || e.metaKey
    if (!zooms && Math.abs(sideways) > Math.abs(e.shiftKey ? 0 : e.deltaY)) this.handlers.pan(sideways * unit)
    // Browsers report a touchpad pinch as small wheel steps with Ctrl.
    else if (zooms || !this.handlers.scrolls())
      this.handlers.zoom(at.x, Math.exp((-e.deltaY * unit) / (e.ctrlKey ? 120 : 400)))
    else return
    e.preventDefault()
    this.handlers.leave()
  }

  private press(e: PointerEvent, at: Point): void {
    if (e.pointerType === 'mouse' && e.button !== 0) return
    if (this.pointers.size === 0) this.dragDistance = 0
    this.pointers.set(e.pointerId, at)
    if (this.pointers.size > 1) this.dragDistance = Infinity // a pinch is not a tap
  }

  private move(e: PointerEvent, at: Point, on: HTMLElement): void {
    const before = this.pointers.get(e.pointerId)
    if (!before) {
      if (e.pointerType === 'mouse') this.handlers.hover(at.x, at.y)
      return
    }
    const other = [...this.pointers].find(([id]) => id !== e.pointerId)?.[1]
    this.pointers.set(e.pointerId, at)
    if (other) {
      const was = Math.hypot(before.x - other.x, before.y - other.y)
      const is = Math.hypot(at.x - other.x, at.y - other.y)
      this.handlers.pan((before.x - at.x) / 2)
      if (was > 10 && is > 10) this.handlers.zoom((at.x + other.x) / 2, is / was)
      return
    }
    this.dragDistance += Math.abs(at.x - before.x) + Math.abs(at.y - before.y)
    if (this.dragDistance <= TAP_TOLERANCE) return
    if (!this.isDragging) {
      this.isDragging = true
      on.setPointerCapture(e.pointerId)
      this.handlers.leave()
    }
    this.handlers.pan(before.x - at.x)
  }

  private release(e: PointerEvent, at: Point): void {
    const pressed = this.pointers.delete(e.pointerId)
    this.isDragging = false
    if (pressed && this.pointers.size === 0 && this.dragDistance <= TAP_TOLERANCE)
      this.handlers.tap(at.x, at.y)
  }
}
