import { describe, expect, it } from 'vitest'
import { CallPairs } from '../../lib/stream/callPairs'
import { Entry } from '../../lib/stream/eventView'
import { RingBuffer } from '../../lib/stream/ringBuffer'
import { anEvent } from '../../testing/factories'
import { BARS, Histogram } from './histogram'
import { StreamView } from './view'

const start = 1_700_000_000_000

function setup() {
  const ring = new RingBuffer<Entry>(100)
  const view = new StreamView(ring)
  const histogram = new Histogram()
  let id = 0
  const event = (s: number, more = {}) => new Entry(anEvent(++id, { timestamp: start + s * 1000, ...more }))
  const at = (s: number, more = {}, pair = (_: Entry) => {}) => {
    const entry = event(s, more)
    pair(entry)
    ring.push(entry)
    view.sync()
  }
  return { view, histogram, at, event }
}

describe('Histogram', () => {
  it('counts the last minute by second and style, and drops older events', () => {
    const { view, histogram, at } = setup()
    at(-90)
    at(0)
    at(0, { error: 'broken' })
    histogram.restart({}, start)
    histogram.sync(view, start)
    expect([histogram.total, histogram.counts.tool[BARS - 1], histogram.counts.fail[BARS - 1]]).toEqual([
      2, 1, 1,
    ])
    at(5)
    histogram.sync(view, start + 5000)
    expect([histogram.total, histogram.at(BARS - 6), histogram.at(BARS - 1)]).toEqual([3, 2, 1])
    histogram.sync(view, start + 62_000)
    expect(histogram.total).toBe(1)
    histogram.sync(view, start + 600_000)
    expect(histogram.total).toBe(0)
  })

  it('stacks the styles of a bar, with failures visible beside many calls', () => {
    const { view, histogram, at } = setup()
    for (let i = 0; i < 34; i++) at(0)
    at(0, { error: 'broken' })
    histogram.restart({}, start)
    expect(histogram.paths.tool).toBe('')
    histogram.sync(view, start)
    const { tool, fail } = histogram.paths
    expect(tool).toBe('M59.05,36V2h.9V36z')
    expect(fail).toBe('M59.05,2V0h.9V2z')
  })

  it('counts the start and the end of a call, which have one row', () => {
    const { view, histogram, at } = setup()
    const pairs = new CallPairs()
    const half = (s: number, type: string, use: string) =>
      at(s, { hook_event_type: type, payload: { tool_use_id: use } }, (entry) => pairs.add(entry))
    half(0, 'PreToolUse', 'a')
    half(1, 'PostToolUse', 'a')
    half(2, 'PreToolUse', 'b')
    histogram.restart({}, start)
    histogram.sync(view, start + 2000)
    expect([view.length, histogram.total]).toEqual([2, 3])
    half(3, 'PostToolUseFailure', 'b')
    histogram.sync(view, start + 3000)
    histogram.sync(view, start + 3000)
    expect([view.length, histogram.total, histogram.counts.fail[BARS - 1]]).toEqual([2, 4, 1])
  })

  it('counts events that match the filter', () => {
    const { view, histogram, at, event } = setup()
    at(0)
    const matches = new RingBuffer<Entry>(100)
    matches.push(event(1))
    view.show(matches)
    histogram.restart({}, start + 1000)
    histogram.sync(view, start + 1000)
    expect(histogram.total).toBe(1)
  })

  it('covers a time range including its history', () => {
    const { view, histogram, at, event } = setup()
    const old = event(60)
    at(3000)
    view.prepend([old], 0, true)
    histogram.restart({ since: 3_600_000 }, start + 3_600_000)
    histogram.sync(view, start + 3_600_000)
    expect([histogram.total, histogram.width]).toEqual([2, 60_000])
  })

  it('does not move for a range with an end', () => {
    const { view, histogram, at } = setup()
    at(10)
    at(69)
    histogram.restart({ from: start + 10_000, to: start + 70_000 }, start + 500_000)
    histogram.sync(view, start + 500_000)
    expect([histogram.at(0), histogram.at(BARS - 1), histogram.total]).toEqual([1, 1, 2])
    expect([histogram.from, histogram.to]).toEqual([start + 10_000, start + 70_000])
  })

  it('returns the event rate over complete bars', () => {
    const { view, histogram, at } = setup()
    for (let s = -10; s <= 0; s++) for (let i = 0; i < 3; i++) at(s)
    histogram.restart({}, start)
    histogram.sync(view, start)
    expect(histogram.rate).toBe(3)
  })
})
