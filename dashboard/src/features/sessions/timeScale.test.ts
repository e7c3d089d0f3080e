import { describe, expect, it } from 'vitest'
import type { Bar } from './timeline'
import { findGaps, TimeScale, formatOffset } from './timeScale'

const bar = (start: number, end?: number) =>
  ({ start: start * 1000, end: end === undefined ? undefined : end * 1000 }) as Bar
const folded = (bars: Bar[], now = 0) => findGaps(bars, now * 1000).map((b) => [b.from / 1000, b.to / 1000])

describe('findGaps', () => {
  it('folds idle time that is long relative to the work', () => {
    expect(folded([bar(0, 20), bar(25, 40), bar(640, 660)])).toEqual([[40, 640]])
  })

  it('keeps short pauses', () => {
    expect(folded([bar(0, 20), bar(28, 40)])).toEqual([])
    expect(folded([])).toEqual([])
    expect(folded([bar(5, 5)])).toEqual([])
  })

  it('does not fold time covered by another call', () => {
    expect(folded([bar(0, 50), bar(0, 1), bar(40, 41)])).toEqual([])
  })

  it('folds the middle of a wait that dwarfs the work', () => {
    expect(folded([bar(0, 30), bar(30, 7230), bar(7230, 7250)])).toEqual([[55, 7205]])
    expect(folded([bar(0, 7230)])).toEqual([])
    expect(folded([bar(0, 300), bar(300, 800)])).toEqual([])
  })

  it('extends open bars up to now', () => {
    expect(folded([bar(0, 10), bar(10)], 60)).toEqual([])
    expect(folded([bar(0, 10), bar(10)], 4000)).toEqual([[25, 3985]])
  })
})

describe('TimeScale', () => {
  const gaps = findGaps([bar(0, 20), bar(620, 640), bar(2000, 2020)], 0)
  const scale = (width: number) => new TimeScale(0, 2_020_000, gaps, { left: 0, width })

  it('gives gaps a fixed width and the rest to the work', () => {
    const s = scale(1000)
    expect(s.x(0)).toBe(0)
    const work = (1000 - 2 * 34) / 3
    expect(s.x(20_000)).toBeCloseTo(work)
    expect(s.x(620_000)).toBeCloseTo(work + 34)
    expect(s.x(2_020_000)).toBeCloseTo(1000)
  })

  it('inverts x and t at every zoom', () => {
    for (const zoom of [1, 3.7, 200]) {
      const s = scale(800 * zoom)
      for (const t of [0, 1, 19_999, 20_000, 300_000, 620_000, 630_000, 1_500_000, 2_010_000, 2_020_000]) {
        expect(s.t(s.x(t))).toBeCloseTo(t, 0)
      }
    }
  })

  it('is monotonic', () => {
    const s = scale(1000)
    let last = -1
    for (let t = 0; t <= 2_020_000; t += 1000) {
      expect(s.x(t)).toBeGreaterThanOrEqual(last)
      last = s.x(t)
    }
  })

  it('leaves most of the width to the work, even with many gaps', () => {
    const many = Array.from({ length: 500 }, (_, i) => bar(i * 1000, i * 1000 + 5))
    const s = new TimeScale(0, 499_005_000, findGaps(many, 0), { left: 0, width: 1000 })
    expect(s.gaps).toHaveLength(499)
    expect(s.x(499_005_000)).toBeCloseTo(1000)
    expect(s.x(5000) * 500).toBeGreaterThan(600)
  })

  it('accepts a session without duration', () => {
    const s = new TimeScale(5, 5, [], { left: 128, width: 300 })
    expect(s.x(5)).toBe(128)
    expect(Number.isFinite(s.t(150))).toBe(true)
  })

  it('has ticks at round times, apart from each other and outside of gaps', () => {
    const s = scale(1000)
    const ticks = s.ticks(0, 1000, 80)
    expect(ticks.length).toBeGreaterThan(3)
    for (const t of ticks) {
      expect(t % 5000).toBe(0)
      for (const b of gaps) expect(t < b.to && s.x(t) > s.x(b.from) - 40).toBe(false)
    }
    const xs = ticks.map((t) => s.x(t))
    for (let i = 1; i < xs.length; i++) expect(xs[i]! - xs[i - 1]!).toBeGreaterThanOrEqual(80)
  })

  it('is never wider than browsers can lay out, nor than 0.05 ms per px', () => {
    expect(new TimeScale(0, 1e9, [], { left: 0, width: 1000 }).maxWidth).toBe(10_000_000)
    expect(new TimeScale(0, 100, [], { left: 0, width: 1000 }).maxWidth).toBe(2000)
  })

  it('has few ticks for years', () => {
    const s = new TimeScale(0, 3e11, [], { left: 0, width: 1000 })
    expect(s.ticks(0, 1000, 80).length).toBeLessThan(14)
  })
})

it.each([
  [0, '0'],
  [250, '250 ms'],
  [1500, '1.5 s'],
  [45_000, '45 s'],
  [125_000, '2:05'],
  [3_720_000, '1:02:00'],
  [183_600_000, '2 d 3:00:00'],
])('formatOffset(%i) is %s', (ms, text) => expect(formatOffset(ms)).toBe(text))
