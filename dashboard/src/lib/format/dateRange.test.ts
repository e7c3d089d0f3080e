import { expect, it } from 'vitest'
import { dateRangeBounds, dateRangeQuery, dateRangeLabel, parseDateRange, statsQuery } from './dateRange'

const of = (query: string) => parseDateRange(new URLSearchParams(query))

it.each([
  ['', undefined, 'Any time'],
  ['days=all', {}, 'Any time'],
  ['days=1', { days: 1 }, 'Today'],
  ['days=14', { days: 14 }, '14 days'],
  ['days=0', undefined, 'Any time'],
  ['days=9999', undefined, 'Any time'],
  ['days=x&from=2026-11-01', { from: '2026-11-01' }, 'since 1 Nov'],
  ['from=2026-11-01&to=2026-11-08', { from: '2026-11-01', to: '2026-11-08' }, '1 Nov to 8 Nov'],
  ['from=2026-11-01&to=2026-11-01', { from: '2026-11-01', to: '2026-11-01' }, '1 Nov'],
  ['from=2026-99-99', undefined, 'Any time'],
  ['to=2026-11-08', { to: '2026-11-08' }, 'until 8 Nov'],
])('%s', (query, period, name) => {
  expect(of(query)).toEqual(period)
  expect(dateRangeLabel(period ?? {})).toBe(name)
  if (period) expect(of(new URLSearchParams(dateRangeQuery(period)).toString())).toEqual(period)
})

it('days start in local time, and the last day is included', () => {
  const now = new Date(2026, 10, 21, 15, 30).getTime()
  const day = (n: number) => new Date(2026, 10, n).getTime()
  expect(dateRangeBounds({}, now)).toEqual({})
  expect(dateRangeBounds({ days: 1 }, now)).toEqual({ from: day(21) })
  expect(dateRangeBounds({ days: 7 }, now)).toEqual({ from: day(15) })
  expect(dateRangeBounds({ from: '2026-11-01', to: '2026-11-08' }, now)).toEqual({ from: day(1), to: day(9) })
  expect(dateRangeBounds({ to: '2026-11-08' }, now)).toEqual({ to: day(9) })
})

it('statsQuery requests at most the days that the hub counts', () => {
  const now = new Date(2026, 10, 21, 15).getTime()
  const day = (n: number) => new Date(2026, 10, n).getTime()
  expect(statsQuery({}, now)).toEqual({ days: 90 })
  expect(statsQuery({ days: 7 }, now)).toEqual({ days: 7 })
  expect(statsQuery({ days: 366 }, now)).toEqual({ days: 90 })
  expect(statsQuery({ from: '2026-11-01', to: '2026-11-08' }, now)).toEqual({ from: day(1), to: day(9) })
  expect(statsQuery({ to: '2026-11-08' }, now)).toEqual({ from: day(9) - 89 * 86_400_000, to: day(9) })
})
