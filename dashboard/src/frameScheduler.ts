/**
 * Collects changes and tells once per frame what changed. Where a frame takes
 * over 30 ms, painting drops to 20 times a second; in a hidden page, where the
 * browser gives no frames, it goes on by timer so that title and badge stay true.
 */
export class FrameScheduler<Topic extends string> {
  private readonly dirty = new Set<Topic>()
  private readonly listeners = new Map<Topic, Set<() => void>>()
  private scheduled = false
  private last = -Infinity
  private slow = false

  /** Calls fn after the frame's changes; returns how to stop that. */
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
    // A page that gets hidden while it waits for a frame would wait for ever.
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
