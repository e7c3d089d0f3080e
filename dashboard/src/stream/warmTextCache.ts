import { idly } from '../idleCallback'
import type { RingBuffer } from '../ringBuffer'

const SLICE = 6 // ms, so that no key waits for it

/**
 * Makes the texts that words are looked for in, a few at a time, the newest first: of
 * a full ring they take longer than a frame, and the first word typed would wait for
 * them. They are not made on arrival, for only a search needs the memory. Returns how to stop it.
 */
export function warmTextCache(ring: RingBuffer<{ readonly id: number; text(): string }>): () => void {
  let at = ring.end - 1
  let stop = idly(slice)
  function slice() {
    const until = performance.now() + SLICE
    while (at >= ring.start && performance.now() < until) ring.at(at--)?.text()
    if (at >= ring.start) stop = idly(slice)
  }
  return () => stop()
}
