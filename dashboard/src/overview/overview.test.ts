import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { formatLongDuration } from '../clock'
import { parseDateRange } from '../dateRange'
import type { DayCount } from '../schema'
import {
  requestColumns,
  bucketName,
  dayColumns,
  dayName,
  daysIn,
  roundUp,
  sum,
  ticks,
  totalTokens,
  waitColumns,
} from './chartData'
import { Poller } from './poller'

describe('a scale', () => {
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
  ])('for %i ends at %i', (n, top) => expect(roundUp(n)).toBe(top))

  test.each([1, 2, 4, 5, 6, 8, 10, 20, 40, 50, 60, 80, 100, 4000])('has whole lines up to %i', (top) => {
    const lines = ticks(top)
    expect(lines[0]).toBe(0)
    expect(lines.at(-1)).toBe(top)
    expect(lines.every(Number.isInteger)).toBe(true)
    expect(lines.length).toBeLessThanOrEqual(6)
  })
})

const day = (name: string, more: Partial<DayCount> = {}): DayCount => ({
  day: name,
  approved: 0,
  denied: 0,
  answered: 0,
  timeout: 0,
  cancelled: 0,
  other: 0,
  ...more,
})

test('days keep their name in every time zone', () => {
  expect(dayName('2026-11-21')).toBe('Saturday 21 November')
  expect(dayColumns([day('2026-03-01', { denied: 2 })])[0]).toMatchObject({
    label: '1 Mar',
    name: 'Sunday 1 March',
  })
})

test('a column has a part for each way to end, none left out', () => {
  const [column] = dayColumns([
    day('2026-11-21', { approved: 1, denied: 2, answered: 3, timeout: 4, cancelled: 5, other: 6 }),
  ])
  expect(sum(column?.parts.map((part) => part.n) ?? [])).toBe(21)
  expect(new Set(column?.parts.map((part) => part.tone)).size).toBe(6)
})

describe('waiting times', () => {
  const bins = [1000, 2000, 10_000, 60_000, 2 ** 53].map((belowMs, i) => ({ belowMs, count: i }))
  test('are as wide as on a logarithmic scale', () => {
    const widths = waitColumns(bins).map((column) => column.width)
    expect(widths[0]).toBe(1) // from half a second
    expect(widths[1]).toBe(1)
    expect(widths[2]).toBeCloseTo(Math.log2(5))
    expect(widths[4]).toBe(1) // without an end
  })
  test('are named by both ends', () =>
    expect(bins.map((_, i) => bucketName(bins, i))).toEqual([
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
  [59_600, '60 s'],
  [252_000, '4 min 12 s'],
  [7_200_000, '2 h'],
  [7_320_000, '2 h 2 min'],
  [273_600_000, '3 d 4 h'],
  [-5, '0 ms'],
])('%i ms last %s', (ms, text) => expect(formatLongDuration(ms)).toBe(text))

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
])('%s asks for %i days', (query, days) =>
  expect(daysIn(parseDateRange(new URLSearchParams(query)) ?? {}, new Date(2026, 10, 21, 15).getTime())).toBe(
    days,
  ),
)

test('a day has a part for each place a request can stand in', () => {
  const day = { day: '2026-11-21', pending: 1, decided: 2, expired: 3, cancelled: 4 }
  const [column] = requestColumns([day])
  expect(column?.parts.map((part) => [part.tone, part.n])).toEqual([
    ['in-decided', 2],
    ['in-expired', 3],
    ['in-cancelled', 4],
    ['in-pending', 1],
  ])
})

test('tokens are counted wherever they were spent', () => {
  expect(totalTokens({ input: 1, output: 2, cacheRead: 3, cacheWrite: 4 })).toBe(10)
  expect(totalTokens({ input: 1, output: 2 })).toBe(3)
  expect(totalTokens(undefined)).toBe(0)
})

describe('refreshing', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  let visible = true
  const world = { now: () => Date.now(), visible: () => visible }

  test('happens at once, then at most once a second, however often it is wanted', async () => {
    const run = vi.fn(() => Promise.resolve())
    const refresh = new Poller(run, 1000, world)
    refresh.want()
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(1)
    for (let i = 0; i < 50; i++) {
      refresh.want()
      await vi.advanceTimersByTimeAsync(50)
    }
    expect(run).toHaveBeenCalledTimes(3)
    refresh.stop()
  })

  test('waits while nobody sees the page', async () => {
    visible = false
    const run = vi.fn(() => Promise.resolve())
    const refresh = new Poller(run, 1000, world)
    refresh.want()
    await vi.advanceTimersByTimeAsync(5000)
    expect(run).not.toHaveBeenCalled()
    visible = true
    refresh.look()
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(1)
    refresh.look() // nothing changed meanwhile
    await vi.advanceTimersByTimeAsync(5000)
    expect(run).toHaveBeenCalledTimes(1)
    refresh.stop()
  })

  test('never overlaps itself, and follows up on what came meanwhile', async () => {
    let end: () => void = () => undefined
    const run = vi.fn(() => new Promise<void>((done) => (end = done)))
    const refresh = new Poller(run, 1000, world)
    refresh.want()
    await vi.advanceTimersByTimeAsync(3000)
    refresh.want()
    await vi.advanceTimersByTimeAsync(3000)
    expect(run).toHaveBeenCalledTimes(1)
    end()
    await vi.advanceTimersByTimeAsync(0)
    expect(run).toHaveBeenCalledTimes(2)
    refresh.stop()
    end()
    refresh.want()
    await vi.advanceTimersByTimeAsync(3000)
    expect(run).toHaveBeenCalledTimes(2)
  })
})
