import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { formatLongDuration } from '../../lib/format/clock'
import { parseDateRange } from '../../lib/format/dateRange'
import type { DayCount } from '../../lib/api/schema'
import { bucketName, dayColumns, dayName, daysIn, roundUp, sum, ticks, waitColumns } from './chartData'
import { totalTokens } from '../../lib/format/amounts'
import { Poller } from '../../lib/api/poller'

describe('roundUp and ticks', () => {
  test.each([
    [0, 1],
    [1, 1],
    [3, 4],
    [7, 8],
    [11, 20],
    [50, 50],
    [51, 60],
    [999, 1000],
    [4001, 5000],
  ])('the scale for %i ends at %i', (n, top) => expect(roundUp(n)).toBe(top))

  test.each([1, 2, 4, 5, 6, 8, 10, 20, 40, 50, 60, 80, 100, 4000])(
    'grid lines up to %i are whole numbers',
    (top) => {
      const lines = ticks(top)
      expect(lines[0]).toBe(0)
      expect(lines.at(-1)).toBe(top)
      expect(lines.every(Number.isInteger)).toBe(true)
      expect(lines.length).toBeLessThanOrEqual(6)
    },
  )

  test.each([
    [0, [0, 0.01]],
    [0.034, [0, 0.01, 0.02, 0.03, 0.04]],
    [0.43, [0, 0.1, 0.2, 0.3, 0.4, 0.5]],
  ])('a scale of dollars up to %d ends close to it', (n, lines) => {
    const found = ticks(roundUp(n, 0.01), 0.01)
    expect(found.map((line) => Number(line.toFixed(4)))).toEqual(lines)
  })
})

const day = (name: string, more: Partial<DayCount> = {}): DayCount => ({
  day: name,
  approved: 0,
  denied: 0,
  answered: 0,
  timeout: 0,
  dismissed: 0,
  gone: 0,
  cancelled: 0,
  other: 0,
  ...more,
})

test('dayColumns names days independently of the time zone', () => {
  expect(dayName('2026-11-21')).toBe('Saturday 21 November')
  expect(dayColumns([day('2026-03-01', { denied: 2 })])[0]).toMatchObject({
    label: '1 Mar',
    name: 'Sunday 1 March',
  })
})

test('dayColumns has a part for every outcome', () => {
  const [column] = dayColumns([
    day('2026-11-21', {
      approved: 1,
      denied: 2,
      answered: 3,
      timeout: 4,
      dismissed: 7,
      gone: 8,
      cancelled: 5,
      other: 6,
    }),
  ])
  expect(sum(column?.parts.map((part) => part.n) ?? [])).toBe(36)
  expect(new Set(column?.parts.map((part) => part.tone)).size).toBe(8)
})

describe('waitColumns', () => {
  const buckets = [1000, 2000, 10_000, 60_000, 2 ** 53].map((belowMs, i) => ({ belowMs, count: i }))
  test('has logarithmic widths', () => {
    const widths = waitColumns(buckets).map((column) => column.width)
    expect(widths[0]).toBe(1) // the first bucket starts at half a second
    expect(widths[1]).toBe(1)
    expect(widths[2]).toBeCloseTo(Math.log2(5))
    expect(widths[4]).toBe(1) // the last bucket is unbounded
  })
  test('names buckets by their bounds', () =>
    expect(buckets.map((_, i) => bucketName(buckets, i))).toEqual([
      'under 1 s',
      '1 s to 2 s',
      '2 s to 10 s',
      '10 s to 1 min',
      'over 1 min',
    ]))
})

test.each([
  [850, '850 ms'],
  [6240, '6.2 s'],
  [6000, '6 s'],
  [59_600, '1 min'],
  [252_000, '4 min 12 s'],
  [7_200_000, '2 h'],
  [7_320_000, '2 h 2 min'],
  [273_600_000, '3 d 4 h'],
  [-5, '< 1 ms'],
])('formatLongDuration(%i) is %s', (ms, text) => expect(formatLongDuration(ms)).toBe(text))

test.each([
  ['', 14],
  ['days=7', 7],
  ['days=0', 14],
  ['days=91', 90],
  ['days=all', 14],
  ['from=2026-11-15', 7],
  ['from=2020-01-01&to=2020-01-02', 90],
  ['from=2026-11-21', 1],
  ['days=1.5', 14],
  ['days=<b>', 14],
])('daysIn %s is %i', (query, days) =>
  expect(daysIn(parseDateRange(new URLSearchParams(query)) ?? {}, new Date(2026, 10, 21, 15).getTime())).toBe(
    days,
  ),
)

test('totalTokens includes the cache', () => {
  expect(totalTokens({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4 })).toBe(10)
  expect(totalTokens({ input: 1, output: 2 })).toBe(3)
  expect(totalTokens(undefined)).toBe(0)
})

describe('Poller', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  test('runs immediately, then at most once per interval', async () => {
    const run = vi.fn(() => Promise.resolve())
    const poller = new Poller(run, 1000)
    poller.request()
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(1)
    for (let i = 0; i < 50; i++) {
      poller.request()
      await vi.advanceTimersByTimeAsync(50)
    }
    expect(run).toHaveBeenCalledTimes(3)
    poller.stop()
  })

  test('waits while the tab is hidden', async () => {
    const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true)
    const run = vi.fn(() => Promise.resolve())
    const poller = new Poller(run, 1000)
    poller.request()
    await vi.advanceTimersByTimeAsync(5000)
    expect(run).not.toHaveBeenCalled()
    hidden.mockReturnValue(false)
    document.dispatchEvent(new Event('visibilitychange'))
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(1)
    document.dispatchEvent(new Event('visibilitychange')) // nothing was requested
    await vi.advanceTimersByTimeAsync(5000)
    expect(run).toHaveBeenCalledTimes(1)
    poller.stop()
  })

  test('runs once at a time, and again for requests in the meantime', async () => {
    let end: () => void = () => undefined
    const run = vi.fn(() => new Promise<void>((done) => (end = done)))
    const poller = new Poller(run, 1000)
    poller.request()
    await vi.advanceTimersByTimeAsync(3000)
    poller.request()
    await vi.advanceTimersByTimeAsync(3000)
    expect(run).toHaveBeenCalledTimes(1)
    end()
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(2)
    poller.stop()
    end()
    poller.request()
    await vi.advanceTimersByTimeAsync(3000)
    expect(run).toHaveBeenCalledTimes(2)
  })
})
