import { describe, expect, test } from 'vitest'
import type { SpendReport } from '../../lib/api/schema'
import { spendColumns, topNames, monthForecast } from './spend'

const row = (day: string, person: string, costUsd: number) => ({
  day,
  person,
  costUsd,
  tokens: { input: 10, output: 1 },
})
const now = new Date(2026, 10, 21, 12).getTime()
const report = (rows: ReturnType<typeof row>[]): SpendReport => ({
  from: 0,
  to: now,
  rows,
  tokens: { input: 0, output: 0 },
  costUsd: rows.reduce((n, r) => n + r.costUsd, 0),
})

describe('spendColumns', () => {
  test('has a column for each day, with the largest part first', () => {
    const r = report([row('2026-11-19', 'ada', 1), row('2026-11-21', 'bob', 3), row('2026-11-21', '', 0.5)])
    const names = topNames(r, 'person', true)
    expect(names).toEqual(['bob', 'ada', ''])
    const columns = spendColumns(r, { group: 'person', names, inDollars: true }, 3, now)
    expect(columns.map((c) => [c.key, ...c.parts.map((p) => p.n)])).toEqual([
      ['2026-11-19', 0, 1, 0],
      ['2026-11-20', 0, 0, 0],
      ['2026-11-21', 3, 0, 0.5],
    ])
    expect(columns[0]?.parts.map((p) => p.name)).toEqual(['bob', 'ada', 'Unknown'])
  })

  test('divides by project', () => {
    const of = (project: string, costUsd: number) => ({ ...row('2026-11-21', 'ada', costUsd), project })
    const r = report([of('/src/shop', 1), of('', 2), of('/src/api', 3)])
    const names = topNames(r, 'project', true)
    expect(names).toEqual(['/src/api', '', '/src/shop'])
    const [column] = spendColumns(r, { group: 'project', names, inDollars: true }, 1, now)
    expect(column?.parts.map((p) => [p.name, p.n])).toEqual([
      ['/src/api', 3],
      ['Unknown', 2],
      ['/src/shop', 1],
    ])
  })

  test('adds up everyone beyond five', () => {
    const r = report([1, 2, 3, 4, 5, 6, 7].map((n) => row('2026-11-21', `p${n}`, n)))
    const names = topNames(r, 'person', true)
    expect(names).toEqual(['p7', 'p6', 'p5', 'p4', 'p3', 'Others'])
    expect(
      spendColumns(r, { group: 'person', names, inDollars: true }, 1, now)[0]?.parts.map((p) => p.n),
    ).toEqual([7, 6, 5, 4, 3, 3])
  })

  test('counts tokens without a cost', () => {
    const r = report([row('2026-11-21', 'ada', 0)])
    expect(topNames(r, 'person', true)).toEqual([])
    const names = topNames(r, 'person', false)
    expect(spendColumns(r, { group: 'person', names, inDollars: false }, 1, now)[0]?.parts[0]?.n).toBe(11)
  })
})

describe('monthForecast', () => {
  test.each([
    ['in the middle of a month of 30 days', 15, new Date(2026, 10, 16), 30],
    ['on the last day', 30, new Date(2026, 10, 30), 30 * (30 / 29)],
    ['without a cost', 0, new Date(2026, 10, 16), 0],
  ])('continues the line %s', (_, cost, now, want) => expect(monthForecast(cost, now)).toBeCloseTo(want, 6))

  test('is unknown on the first day', () =>
    expect(monthForecast(5, new Date(2026, 10, 1, 12))).toBeUndefined())
})
