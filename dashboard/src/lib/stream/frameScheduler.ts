/**
 * Coalesces changes and notifies the listeners once per frame. If a frame takes over 30 ms,
 * the rate drops to 20 per second. A hidden page gets no frames, so a timer keeps its
 * title and badge up to date.
 */
export class FrameScheduler<Topic extends string> {
  private readonly dirty = new Set<Topic>()
  private readonly listeners = new Map<Topic, Set<() => void>>()
  private scheduled = false
  private last = -Infinity
  private slow = false

  /** Calls fn once per frame with changes. Returns the unsubscribe function. */
  on(topic: Topic, fn: () => void): () => void {
    const set = this.listeners.get(topic) ?? new Set()
    this.listeners.set(topic, set.add(fn))
    return () => set.delete(fn)
  }

  invalidate(topic: Topic): void {
    this.dirty.add(topic)
    if (this.scheduled) return
    this.scheduled = true
    const wait = this.slow ? 50 - (performance.now() - this.last) : 0
    if (document.hidden) setTimeout(() => this.flush(), 250)
    else if (wait > 1) setTimeout(() => this.frame(), wait)
    else this.frame()
  }

  private frame(): void {
    // A page that is hidden while it waits for a frame would never get it.
    const late = setTimeout(() => this.flush(), 500)
    requestAnimationFrame(() => {
      clearTimeout(late)
      this.flush()
    })
  }

  private flush(): void {
    if (!this.scheduled) return
    this.scheduled = false
    const topics = [...this.dirty]
    this.dirty.clear()
    const began = performance.now()
    for (const topic of topics) for (const fn of this.listeners.get(topic) ?? []) fn()
    this.last = performance.now()
    queueMicrotask(() => (this.slow = performance.now() - began > 30))
  }
}
