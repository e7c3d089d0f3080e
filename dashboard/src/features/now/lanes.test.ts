import { describe, expect, it } from 'vitest'
import type { Freeze, NowLane, NowReport } from '../../lib/api/schema'
import type { Event } from '../../lib/api/types'
import { RequestIndex } from '../../lib/stream/agents'
import { groupRequests, noLists, toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, anEvent } from '../../testing/factories'
import { LaneModel, keyOf, type Lane } from './laneModel'
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
const loaded = (more: Partial<NowReport> = {}) => {
  const model = new LaneModel()
  model.load(report(more))
  return model
}
const laneOf = (model: LaneModel, session = 's1') => model.lanes.get(keyOf('api', session)) as Lane
const event = (id: number, type: string, more: Partial<Event> = {}) =>
  anEvent(id, { hook_event_type: type, timestamp: NOW + id, ...more })
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
const states = (model: LaneModel, index = noRequests, now = NOW) =>
  laneViews(model, index, now).map((v) => v.state)

describe('LaneModel', () => {
  it('ignores events that the report has', () => {
    const model = loaded()
    model.add(event(10, 'Stop'))
    expect(laneOf(model).last).toBeUndefined()
    model.add(event(11, 'Stop'))
    model.add(event(11, 'Stop'))
    expect(laneOf(model).last?.id).toBe(11)
    expect([...laneOf(model).counts.values()]).toEqual([1])
  })

  it('ignores events before the first report, tests and telemetry', () => {
    const model = new LaneModel()
    model.add(event(1, 'Stop'))
    expect(model.lanes.size).toBe(0)
    model.load(report({ lanes: [] }))
    model.add(event(11, 'Test', { source_app: 'hookback-test' }))
    model.add(event(12, 'ApiRequest'))
    expect(model.lanes.size).toBe(0)
    model.add(event(13, 'Stop', { session_id: 'new' }))
    expect(laneOf(model, 'new').startedAt).toBe(NOW + 13)
  })

  it('does not count a program that only asks as working', () => {
    const model = loaded({ lanes: [] })
    model.add(event(11, 'DecisionPoint'))
    expect(states(model)).toEqual(['idle'])
    model.add(event(12, 'PreToolUse'))
    expect(states(model)).toEqual(['working'])
  })

  it('follows the call that runs', () => {
    const model = loaded()
    const call = (id: number, type: string, use: string, input = {}) =>
      event(id, type, { tool_name: 'Read', tool_use_id: use, payload: { cwd: '/srv', tool_input: input } })
    model.add(call(11, 'PreToolUse', 'a', { file_path: '/srv/go.mod' }))
    expect(laneOf(model).step).toEqual({ text: 'Read go.mod', since: NOW + 11, tool_use_id: 'a' })
    model.add(call(12, 'PostToolUse', 'other'))
    expect(laneOf(model).step?.tool_use_id).toBe('a')
    model.add(call(13, 'PostToolUse', 'a'))
    expect(laneOf(model).step).toBeUndefined()
    model.add(event(14, 'PreToolUse', { tool_name: 'constructor', payload: { tool_input: { path: 'x' } } }))
    expect(laneOf(model).step?.text).toBe('Call constructor x')
    model.add(event(15, 'UserPromptSubmit', { payload: { prompt: 'Go on' } }))
    expect(laneOf(model).step).toBeUndefined()
  })

  it('is failing after three failed calls, until one succeeds', () => {
    const model = loaded()
    for (const id of [11, 12]) model.add(event(id, 'PostToolUseFailure'))
    expect(states(model)).toEqual(['working'])
    model.add(event(13, 'PostToolUseFailure'))
    expect(states(model)).toEqual(['failing'])
    expect(laneOf(model).failures).toBe(3)
    model.add(event(14, 'PostToolUse'))
    expect(states(model)).toEqual(['working'])
    model.add(event(15, 'StopFailure'))
    expect(states(model)).toEqual(['failing'])
    model.add(event(16, 'SessionEnd'))
    expect(states(model)).toEqual(['ended'])
  })

  it('waits in the terminal, and is idle when its turn has ended', () => {
    const model = loaded({ lanes: [lane({ state: 'idle', phase: 'turn_ended' })] })
    expect(states(model)).toEqual(['turn-ended'])
    model.add(event(11, 'PermissionRequest'))
    expect(states(model)).toEqual(['terminal'])
    model.add(event(12, 'PostToolUse'))
    expect(states(model)).toEqual(['working'])
    model.add(event(13, 'Stop'))
    expect(states(model)).toEqual(['turn-ended'])
  })

  it('is frozen while a freeze stops its session', () => {
    const freeze = { id: 1, scope: 'session', source_app: 'api', session_id: 's1' } as Freeze
    const stateWith = (freezes: Freeze[]) => laneViews(loaded(), noRequests, NOW, freezes).map((v) => v.state)
    expect(stateWith([freeze])).toEqual(['frozen'])
    expect(stateWith([{ ...freeze, session_id: 's2' }])).toEqual(['working'])
    expect(stateWith([{ id: 1, scope: 'all' } as Freeze])).toEqual(['frozen'])
  })

  it('moves the strip with the time', () => {
    const model = loaded({ lanes: [lane({ buckets: [2, ...new Array<number>(58).fill(0), 5] })] })
    expect(model.strip(laneOf(model), NOW).counts[0]).toBe(2)
    expect(model.strip(laneOf(model), NOW).counts[59]).toBe(5)
    const later = model.strip(laneOf(model), NOW + 20_000)
    expect(later.counts[57]).toBe(5)
    expect(later.counts[0]).toBe(0)
    expect(later.from).toBe(NOW - 570_000)
  })
})

describe('laneViews', () => {
  it('takes the requests of the page, not those of the report', () => {
    const model = loaded({
      lanes: [lane({ state: 'needs_you', requests: [3], step: { text: 'Run x', since: 1 } })],
    })
    expect(states(model, indexOf([aRequest(3)]))).toEqual(['needs-you'])
    expect(states(model)).toEqual(['working'])
    expect(laneViews(model, noRequests, NOW)[0]?.step).toBeUndefined()
  })

  it('drops a lane after 30 minutes, unless it has a request', () => {
    const model = loaded()
    const end = NOW - 1000 + 30 * 60_000
    expect(states(model, noRequests, end)).toEqual(['idle'])
    expect(states(model, noRequests, end + 1)).toEqual([])
    expect(states(model, indexOf([aRequest(3)]), end + 1)).toEqual(['needs-you'])
    expect(states(model, indexOf([aRequest(3, {}, { waiter: 'lost' })]), end + 1)).toEqual(['idle'])
  })

  it('lets open waits grow, and ends those that were answered', () => {
    const asked = anEvent(3).timestamp ?? 0
    const model = loaded({
      lanes: [lane({ blockedMs: 5000, waits: [{ from: NOW - 9000, to: NOW - 8000 }, { from: asked }] })],
    })
    const [open] = laneViews(model, indexOf([aRequest(3)]), NOW + 7000)
    expect(open?.blocked).toBe(12_000)
    expect(open?.waits.at(-1)).toEqual({ from: asked })
    const [ended] = laneViews(model, noRequests, NOW + 7000)
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
