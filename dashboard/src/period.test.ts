import { expect, it } from 'vitest'
import { boundsOf, inAddress, nameOf, periodIn } from './period'

const of = (query: string) => periodIn(new URLSearchParams(query))

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
  expect(nameOf(period ?? {})).toBe(name)
  if (period) expect(of(new URLSearchParams(inAddress(period)).toString())).toEqual(period)
})

it('days begin where the person is, and the last one is in it', () => {
  const now = new Date(2026, 10, 21, 15, 30).getTime()
  const day = (n: number) => new Date(2026, 10, n).getTime()
  expect(boundsOf({}, now)).toEqual({})
  expect(boundsOf({ days: 1 }, now)).toEqual({ from: day(21) })
  expect(boundsOf({ days: 7 }, now)).toEqual({ from: day(15) })
  expect(boundsOf({ from: '2026-11-01', to: '2026-11-08' }, now)).toEqual({ from: day(1), to: day(9) })
  expect(boundsOf({ to: '2026-11-08' }, now)).toEqual({ to: day(9) })
})
