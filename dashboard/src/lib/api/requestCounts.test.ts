import { expect, it } from 'vitest'
import { statsQuery } from './requestCounts.svelte'

it('statsQuery requests at most the days that the hub counts', () => {
  const now = new Date(2026, 10, 21, 15).getTime()
  const day = (n: number) => new Date(2026, 10, n).getTime()
  expect(statsQuery({}, now)).toEqual({ days: 90 })
  expect(statsQuery({ days: 7 }, now)).toEqual({ days: 7 })
  expect(statsQuery({ days: 366 }, now)).toEqual({ days: 90 })
  expect(statsQuery({ from: '2026-11-01', to: '2026-11-08' }, now)).toEqual({ from: day(1), to: day(9) })
  expect(statsQuery({ to: '2026-11-08' }, now)).toEqual({ from: day(9) - 89 * 86_400_000, to: day(9) })
})
