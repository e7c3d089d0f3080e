import { describe, expect, it } from 'vitest'
import { rangeStart, toIso, toLocalInput, parseRange, rangeLabel } from './timeRange'

const read = (query: string) => parseRange(new URLSearchParams(query))
const now = Date.UTC(2026, 10, 21, 12)

describe('Time range', () => {
  it.each([
    ['', {}],
    ['since=15m', { since: 900_000 }],
    ['since=7d', { since: 604_800_000 }],
    ['since=0m', {}],
    ['since=99999m', {}],
    ['since=soon&from=nonsense', {}],
    ['from=2026-11-21T12:00:00Z&to=1763726460000', { from: now, to: 1_763_726_460_000 }],
    ['to=2026-11-21T12:00:00Z', { to: now }],
  ])('%s', (query, range) => {
    expect(read(query)).toEqual({ from: undefined, to: undefined, ...range })
  })

  it('is relative to now or fixed', () => {
    expect(rangeStart({ since: 1000 }, 5000)).toBe(4000)
    expect(rangeStart({ from: 3000 }, 5000)).toBe(3000)
    expect(rangeStart({}, 5000)).toBe(-Infinity)
  })

  it('has a label', () => {
    expect(rangeLabel({ since: 900_000 }, now)).toBe('last 15 minutes')
    expect(rangeLabel({ since: 3_600_000 }, now)).toBe('last hour')
    expect(rangeLabel({ since: 86_400_000 }, now)).toBe('last 24 hours')
    expect(rangeLabel({ since: 604_800_000 }, now)).toBe('last 7 days')
    expect(rangeLabel({}, now)).toBe('all time')
    expect(rangeLabel({ from: now - 60_000, to: now }, now)).toMatch(/^\d\d:59:00 to \d\d:00:00$/)
    expect(rangeLabel({ from: now - 86_400_000 }, now)).toMatch(/^since 20 Nov/)
  })

  it('round-trips through form fields', () => {
    expect(toIso(now)).toBe('2026-11-21T12:00:00Z')
    expect(toIso(now + 5)).toBe('2026-11-21T12:00:00.005Z')
    expect(new Date(toLocalInput(now)).getTime()).toBe(now)
  })
})
