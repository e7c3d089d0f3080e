import { describe, expect, test } from 'vitest'
import { layOut, ROW, rowsWithin } from './listWindow'

describe('The list window', () => {
  const rows = Array.from({ length: 500 }, (_, i) => ({ duplicates: i === 1 ? 2 : 0, open: i === 1 }))
  const offsets = layOut(rows)

  test('places the rows below each other, with room for open duplicates', () => {
    expect([...offsets.slice(0, 4)]).toEqual([0, ROW, 4 * ROW, 5 * ROW])
    expect(offsets.at(-1)).toBe(502 * ROW)
  })

  test('contains the rows of the viewport and the tab stop', () => {
    expect(rowsWithin(offsets, 0, 2 * ROW)).toEqual([0, 1])
    expect(rowsWithin(offsets, -500, 0)).toEqual([])
    expect(rowsWithin(offsets, ROW + 1, ROW + 2, 400)).toEqual([1, 400])
    expect(rowsWithin(offsets, ROW + 1, ROW + 2, 1)).toEqual([1])
  })
})
