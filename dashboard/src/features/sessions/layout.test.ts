import { describe, expect, it } from 'vitest'
import { anEvent } from '../../testing/factories'
import type { Event } from '../../lib/api/types'
import { Session } from './timeline'
import { barAt, neighborBar, firstBarFrom, layOutLanes, TRACK } from './layout'
import { TimeScale } from './timeScale'

const T = 1_700_000_000_000

/** Main: a prompt, a call with a wait, and an overlapping call. Explore: one call. */
function aSession(): Session {
  const session = new Session()
  let id = 0
  const at = (second: number, type: string, more: Partial<Event> = {}) => {
    const hex = (T + second * 1000).toString(16).padStart(12, '0')
    const uid = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
    session.addEvent(anEvent(++id, { uid, hook_event_type: type, ...more }))
  }
  const use = (tool: string): Partial<Event> => ({ tool_name: tool, tool_use_id: tool })
  const explore = { agent_id: 'x', agent_type: 'Explore' }
  at(0, 'UserPromptSubmit')
  at(10, 'PreToolUse', use('Bash'))
  at(12, 'PermissionRequest', {
    ...use('Bash'),
    humanInTheLoop: { type: 'permission', question: 'May I?' },
    humanInTheLoopStatus: { status: 'responded', outcome: 'approve', respondedAt: T + 30_000 },
  })
  at(15, 'PreToolUse', use('Read'))
  at(40, 'PostToolUse', use('Read'))
  at(50, 'PostToolUse', use('Bash'))
  at(60, 'PreToolUse', { ...use('Grep'), ...explore })
  at(80, 'PostToolUse', { ...use('Grep'), ...explore })
  at(100, 'Stop')
  return session
}
const session = aSession()
const [main, explore] = session.lanes
const scale = () => new TimeScale(T, T + 100_000, []).fit(1000, 1) // 10 px a second
const named = (what: string) =>
  session.bars.find((b) => (b.tool ?? b.event.hook_event_type) === what && b.kind !== 'wait')

it('layOutLanes stacks lanes by the height of their tracks', () => {
  const { rows, height } = layOutLanes(session.lanes, false)
  expect(rows.map((s) => s.lane)).toEqual([main, explore])
  expect(rows[0]?.height).toBeGreaterThan(rows[1]?.height ?? 0)
  expect(rows[1]?.top).toBe(rows[0]?.height)
  expect(height).toBe((rows[0]?.height ?? 0) + (rows[1]?.height ?? 0))
  expect(layOutLanes(session.lanes, true).height).toBeGreaterThan(height)
})

describe('barAt', () => {
  const { rows } = layOutLanes(session.lanes, false)
  const first = (rows[0]?.tracks ?? 0) + TRACK / 2
  const at = (x: number, y: number) => barAt(rows, scale(), { x, y, now: T + 100_000 })

  it('finds a call, and the wait inside it', () => {
    expect(at(450, first)).toBe(named('Bash'))
    expect(at(200, first)).toBe(session.waits[0])
    expect(at(110, first)).toBe(named('Bash'))
  })

  it('finds overlapping calls and calls of other lanes', () => {
    expect(at(200, first + TRACK)).toBe(named('Read'))
    expect(at(700, (rows[1]?.tracks ?? 0) + 5)).toBe(named('Grep'))
  })

  it('finds the nearest mark', () => {
    expect(at(3, rows[0]?.marks ?? 0)).toBe(named('UserPromptSubmit'))
    expect(at(996, rows[0]?.marks ?? 0)).toBe(named('Stop'))
    expect(at(500, rows[0]?.marks ?? 0)).toBeUndefined()
  })

  it('finds nothing between and below bars', () => {
    expect(at(550, first)).toBeUndefined()
    expect(at(506, first)).toBe(named('Bash'))
    expect(at(500, 5000)).toBeUndefined()
  })
})

it('firstBarFrom searches thousands of bars', () => {
  const track = Array.from({ length: 5000 }, (_, i) => ({ start: i * 10, end: i * 10 + 5 })) as never
  expect(firstBarFrom(track, 1005)).toBe(100)
  expect(firstBarFrom(track, 1006)).toBe(101)
  expect(firstBarFrom(track, -1)).toBe(0)
  expect(firstBarFrom(track, 1e9)).toBe(5000)
})

describe('neighborBar', () => {
  it('moves along a lane and stops at its ends', () => {
    const bars = main?.bars ?? []
    expect(neighborBar(session.lanes, bars[0]!, 'ArrowRight')).toBe(bars[1])
    expect(neighborBar(session.lanes, bars[1]!, 'ArrowLeft')).toBe(bars[0])
    expect(neighborBar(session.lanes, bars[0]!, 'ArrowLeft')).toBeUndefined()
    expect(neighborBar(session.lanes, bars[2]!, 'Home')).toBe(bars[0])
    expect(neighborBar(session.lanes, bars[2]!, 'End')).toBe(bars.at(-1))
  })

  it('moves to another lane at about the same time', () => {
    expect(neighborBar(session.lanes, named('Bash')!, 'ArrowDown')).toBe(named('Grep'))
    expect(neighborBar(session.lanes, named('Grep')!, 'ArrowUp')).toBe(named('Stop'))
    expect(neighborBar(session.lanes, named('Grep')!, 'ArrowDown')).toBeUndefined()
  })
})
