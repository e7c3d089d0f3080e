import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Throttle } from './throttle'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('calls back immediately for the first change, then once per interval', () => {
  const callback = vi.fn()
  const throttle = new Throttle(50, callback)
  throttle.trigger()
  expect(callback).toHaveBeenCalledTimes(1)
  for (let i = 0; i < 10; i++) throttle.trigger()
  expect(callback).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(50)
  expect(callback).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(1000)
  expect(callback).toHaveBeenCalledTimes(2)
  throttle.trigger()
  expect(callback).toHaveBeenCalledTimes(3)
})

it('does not call back after stop', () => {
  const callback = vi.fn()
  const throttle = new Throttle(50, callback)
  throttle.trigger()
  throttle.trigger()
  throttle.stop()
  vi.advanceTimersByTime(1000)
  expect(callback).toHaveBeenCalledTimes(1)
})
