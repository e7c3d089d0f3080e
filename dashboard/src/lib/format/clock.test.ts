import { describe, expect, it, vi } from 'vitest'
import {
  formatAgo,
  Clock,
  fullTime,
  formatDuration,
  formatTimeLeft,
  formatInterval,
  spokenTimeLeft,
  timeOfDay,
  uidTime,
  isUrgent,
  setTimeStyle,
} from './clock'

describe('Clock', () => {
  it('follows the hub’s clock if the local clock is wrong', () => {
    let local = 1_000_000
    const clock = new Clock(() => local)
    clock.sync(5_000_000)
    local += 1500
    expect(clock.now()).toBe(5_001_500)
  })

  it('is advanced after a sleep, and not set back by a message that waited', () => {
    const clock = new Clock(() => 0)
    clock.sync(5_000_000)
    clock.advance(5_600_000)
    clock.advance(5_300_000)
    expect(clock.now()).toBe(5_600_000)
  })

  it('ignores steps of the browser’s clock', () => {
    const clock = new Clock()
    clock.sync(5_000_000)
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
    expect(clock.now()).toBeLessThan(6_000_000)
    vi.useRealTimers()
  })

  it.each([
    [0, '0:00'],
    [-5000, '0:00'],
    [1, '0:01'],
    [59_400, '1:00'],
    [288_000, '4:48'],
    [3_850_000, '1:04:10'],
    [183_600_000, '2 d 3 h'],
  ])('formatTimeLeft(%i) is %s', (ms, text) => expect(formatTimeLeft(ms)).toBe(text))

  it.each([
    [11.4, '11 ms'],
    [1234, '1.2 s'],
    [14_200, '14 s'],
    [-3, '< 1 ms'],
  ])('formatDuration(%d) is %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  it('formats the age of an event', () => {
    expect(formatAgo(1000, 2000)).toBe('now')
    expect(formatAgo(0, 12_000)).toBe('12 s ago')
    expect([formatInterval(59), formatInterval(60), formatInterval(7200), formatInterval(200_000)]).toEqual([
      '59 s',
      '1 min',
      '2 h',
      '2 d',
    ])
  })

  it('is urgent in the last fifth or the last 30 seconds', () => {
    expect(isUrgent(300_000, 0, 200_000)).toBe(false)
    expect(isUrgent(300_000, 0, 240_000)).toBe(true)
    expect(isUrgent(100_000, 0, 70_000)).toBe(true)
  })

  it('formats the time left in words', () => {
    expect([0, 900, 30_000, 61_000, 90_000].map(spokenTimeLeft)).toEqual([
      '0 seconds',
      '1 second',
      '30 seconds',
      '61 seconds',
      '2 minutes',
    ])
  })

  it('reads the hub’s time only from a UUIDv7', () => {
    expect(uidTime('01a1fc2d-a4a7-78fc-91db-1c6fb382d6e7')).toBe(0x01a1fc2da4a7)
    expect(uidTime('c232ab00-9414-41ec-b3c8-9f6bdeced846')).toBeUndefined()
    expect(uidTime(undefined)).toBeUndefined()
  })
})

describe('Time styles', () => {
  const now = Date.UTC(2026, 10, 21, 12, 0, 7)
  const before = now - 3 * 3_600_000
  it('formats times in UTC', () => {
    setTimeStyle(() => 'utc')
    expect(timeOfDay(now)).toBe('12:00:07.000')
    expect(fullTime(now)).toBe('21 Nov 2026, 12:00:07 UTC')
    expect(formatAgo(before, now)).toBe('09:00:07')
    expect(formatAgo(now - 86_400_000, now)).toBe('20 Nov, 12:00')
    setTimeStyle(() => 'relative')
    expect(formatAgo(before, now)).toBe('3 h ago')
    expect(fullTime(now)).not.toContain('UTC')
  })
})
