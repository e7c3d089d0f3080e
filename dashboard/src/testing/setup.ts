import { afterEach, vi } from 'vitest'

// happy-dom has no layout: everything counts as on screen.
class SeenAtOnce {
  constructor(private readonly seen: IntersectionObserverCallback) {}
  observe(target: Element) {
    const entry = { isIntersecting: true, target } as IntersectionObserverEntry
    this.seen([entry], this as unknown as IntersectionObserver)
  }
  disconnect() {
    // nothing is held
  }
}
vi.stubGlobal('IntersectionObserver', SeenAtOnce)
Element.prototype.getBoundingClientRect = () => new DOMRect(0, 0, 800, 600)

afterEach(() => {
  sessionStorage.clear()
  localStorage.clear()
  vi.useRealTimers()
})
