import { runWhenIdle } from '../../lib/page/idleCallback'
import type { RingBuffer } from '../../lib/stream/ringBuffer'

const SLICE = 6 // ms, short enough not to delay input

/**
 * Fills the cache of searchable texts in small slices, newest first. For a full ring buffer
 * this takes longer than a frame and would delay the first typed word. It is not done on
 * arrival, because only a search needs the memory. Returns a stop function.
 */
export function warmTextCache(ring: RingBuffer<{ readonly id: number; text(): string }>): () => void {
  let at = ring.end - 1
  let stop = runWhenIdle(slice)
  function slice() {
    const until = performance.now() + SLICE
    while (at >= ring.start && performance.now() < until) ring.at(at--)?.text()
    if (at >= ring.start) stop = runWhenIdle(slice)
  }
  return () => stop()
}
