import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { RingBuffer } from '../../lib/stream/ringBuffer'
import { warmTextCache } from './warmTextCache'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A ring of entries whose text takes a millisecond. */
function slow(n: number) {
  const made: number[] = []
  const ring = new RingBuffer<{ id: number; text(): string }>(100)
  for (let id = 1; id <= n; id++) {
    const text = () => {
      made.push(id)
      vi.setSystemTime(Date.now() + 1)
      vi.advanceTimersByTime(1)
      return ''
    }
    ring.push({ id, text })
  }
  return { ring, made }
}

it('computes the text of every event in slices, newest first', () => {
  const { ring, made } = slow(150)
  warmTextCache(ring)
  expect(made).toEqual([])
  vi.advanceTimersToNextTimer()
  expect(made.length).toBeGreaterThan(0)
  expect(made.length).toBeLessThan(20)
  vi.runAllTimers()
  expect(made).toEqual(Array.from({ length: 100 }, (_, i) => 150 - i))
})

it('stops when canceled', () => {
  const { ring, made } = slow(100)
  const stop = warmTextCache(ring)
  vi.advanceTimersToNextTimer()
  const so = made.length
  stop()
  vi.runAllTimers()
  expect(made).toHaveLength(so)
})
