import { describe, expect, it } from 'vitest'
import type { Freeze, NowLane, NowReport } from '../../lib/api/schema'
import type { Event } from '../../lib/api/types'
import { RequestIndex } from '../../lib/stream/agents'
import { groupRequests, noLists, toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, anEvent } from '../../testing/factories'
import { arrangeLanes, type LaneRank } from './laneOrder'
import { barShare, laneViews, stripPath, unionLength, waitBoxes } from './laneView'

const NOW = 1_700_000_100_000
const lane = (more: Partial<NowLane> = {}): NowLane => ({
  ...{ source_app: 'api', session_id: 's1', state: 'working', startedAt: NOW - 60_000, lastAt: NOW - 1000 },
  ...{ blockedMs: 0, failures: 0 },
  ...more,
})
const report = (more: Partial<NowReport> = {}): NowReport => ({
  ...{ at: NOW, upTo: 10, needsYou: 0, working: 1, costUsd: 0, lanes: [lane()], moreLanes: 0 },
  ...{ stripFrom: NOW - 590_000, knownFrom: NOW - 590_000, bucketMs: 10_000 },
  ...more,
})
const noRequests = new RequestIndex(noLists())
const indexOf = (events: Event[], me = '') =>
  new RequestIndex(
    groupRequests(
      events.map((e) => toRequest(e) as Request),
      NOW,
      new Map(),
      me,
    ),
  )
const states = (shown: NowReport, index = noRequests) => laneViews(shown, index, NOW).map((v) => v.state)

describe('laneViews', () => {
  it('is frozen while a freeze stops its session', () => {
    const freeze = { id: 1, scope: 'session', source_app: 'api', session_id: 's1' } as Freeze
    const stateWith = (freezes: Freeze[]) => laneViews(report(), noRequests, NOW, freezes).map((v) => v.state)
    expect(stateWith([freeze])).toEqual(['frozen'])
    expect(stateWith([{ ...freeze, session_id: 's2' }])).toEqual(['working'])
    expect(stateWith([{ id: 1, scope: 'all' } as Freeze])).toEqual(['frozen'])
  })

  it('takes the requests of the page, not those of the report', () => {
    const shown = report({
      lanes: [lane({ state: 'needs_you', requests: [3], step: { text: 'Run x', since: 1 } })],
    })
    expect(states(shown, indexOf([aRequest(3)]))).toEqual(['needs-you'])
    expect(states(shown)).toEqual(['working'])
    expect(laneViews(shown, noRequests, NOW)[0]?.step).toBeUndefined()
  })

  it('lets open waits grow, and ends those that were answered', () => {
    const asked = anEvent(3).timestamp ?? 0
    const shown = report({
      lanes: [lane({ blockedMs: 5000, waits: [{ from: NOW - 9000, to: NOW - 8000 }, { from: asked }] })],
    })
    const [open] = laneViews(shown, indexOf([aRequest(3)]), NOW + 7000)
    expect(open?.blocked).toBe(12_000)
    expect(open?.waits.at(-1)).toEqual({ from: asked })
    const [ended] = laneViews(shown, noRequests, NOW + 7000)
    expect(ended?.blocked).toBe(5000)
    expect(ended?.waits.at(-1)).toEqual({ from: asked, to: NOW })
  })
})

it('unionLength counts overlapping waits once', () => {
  const waits = [{ from: 20_000 }, { from: 0, to: 10_000 }, { from: 5000, to: 12_000 }]
  expect(unionLength(waits, 2000, 25_400)).toBe(15_000)
  expect(unionLength([], 0, 1)).toBe(0)
})

describe('arrangeLanes', () => {
  const row = (key: string, state: LaneRank['state'], more: Partial<LaneRank> = {}): LaneRank => ({
    ...{ key, state, startedAt: 0 },
    ...more,
  })
  const keys = (rows: LaneRank[]) => rows.map((r) => r.key)

  it('orders by state, then by the longest wait, then by the latest start', () => {
    const rows = [
      row('ended', 'ended'),
      row('idle', 'idle'),
      row('gone', 'gone'),
      row('old', 'working', { startedAt: 1 }),
      row('young', 'working', { startedAt: 2 }),
      row('failing', 'failing'),
      row('late', 'needs-you', { askedAt: 2 }),
      row('early', 'needs-you', { askedAt: 1 }),
    ]
    expect(keys(arrangeLanes(rows))).toEqual([
      'early',
      'late',
      'failing',
      'young',
      'old',
      'idle',
      'gone',
      'ended',
    ])
  })

  it('moves no lane while frozen, and adds new ones at the end', () => {
    const rows = [row('new', 'needs-you', { askedAt: 1 }), row('a', 'idle'), row('b', 'working')]
    expect(keys(arrangeLanes(rows, ['a', 'b', 'closed']))).toEqual(['a', 'b', 'new'])
  })
})

describe('Strip', () => {
  it('shows one event, and never more than the height', () => {
    expect(barShare(0)).toBe(0)
    expect(barShare(1)).toBe(0.25)
    expect(barShare(100)).toBe(1)
    expect(barShare(1e6)).toBe(1)
  })

  it('has a bar for each bucket with events, and waits within the strip', () => {
    expect(stripPath([0, 1, 0, 100])).toBe('M1.15,1V0.75h.7V1zM3.15,1V0h.7V1z')
    const waits = [{ from: -50_000, to: -10_000 }, { from: 300_000, to: 450_000 }, { from: 590_000 }]
    expect(waitBoxes(waits, 0, 597_000)).toEqual([
      { left: 50, width: 25 },
      { left: expect.closeTo(98.33, 1) as number, width: expect.closeTo(1.17, 1) as number },
    ])
    expect(waitBoxes([{ from: -5 }], 0, 700_000)).toEqual([{ left: 0, width: 100 }])
  })
})
