import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Beats } from './beats'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

it('tells the first change at once and what follows together', () => {
  const tell = vi.fn()
  const beats = new Beats(50, tell)
  beats.ask()
  expect(tell).toHaveBeenCalledTimes(1)
  for (let i = 0; i < 10; i++) beats.ask()
  expect(tell).toHaveBeenCalledTimes(1)
  vi.advanceTimersByTime(50)
  expect(tell).toHaveBeenCalledTimes(2)
  vi.advanceTimersByTime(1000)
  expect(tell).toHaveBeenCalledTimes(2)
  beats.ask()
  expect(tell).toHaveBeenCalledTimes(3)
})

it('tells nothing any more once it is stopped', () => {
  const tell = vi.fn()
  const beats = new Beats(50, tell)
  beats.ask()
  beats.ask()
  beats.stop()
  vi.advanceTimersByTime(1000)
  expect(tell).toHaveBeenCalledTimes(1)
})
