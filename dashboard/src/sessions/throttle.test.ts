import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Throttle } from './throttle'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('tells the first change at once and what follows together', () => {
  const tell = vi.fn()
  const beats = new Throttle(50, tell)
  beats.trigger()
  expect(tell).toHaveBeenCalledTimes(1)
  for (let i = 0; i < 10; i++) beats.trigger()
  expect(tell).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(50)
  expect(tell).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(1000)
  expect(tell).toHaveBeenCalledTimes(2)
  beats.trigger()
  expect(tell).toHaveBeenCalledTimes(3)
})

it('tells nothing any more once it is stopped', () => {
  const tell = vi.fn()
  const beats = new Throttle(50, tell)
  beats.trigger()
  beats.trigger()
  beats.stop()
  vi.advanceTimersByTime(1000)
  expect(tell).toHaveBeenCalledTimes(1)
})
