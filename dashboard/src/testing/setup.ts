import { afterEach, vi } from 'vitest'

// happy-dom has no layout, so every element counts as visible.
class ImmediateObserver {
  constructor(private readonly callback: IntersectionObserverCallback) {}
  unobserve(): void {}
  observe(target: Element) {
    const entry = { isIntersecting: true, target } as IntersectionObserverEntry
    this.callback([entry], this as unknown as IntersectionObserver)
  }
  disconnect() {
    // nothing to release
  }
}
vi.stubGlobal('IntersectionObserver', ImmediateObserver)
Element.prototype.getBoundingClientRect = () => new DOMRect(0, 0, 800, 600)

afterEach(() => {
  sessionStorage.clear()
  localStorage.clear()
  vi.useRealTimers()
})
