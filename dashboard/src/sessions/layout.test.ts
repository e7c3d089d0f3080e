import { describe, expect, it } from 'vitest'
import { anEvent } from '../testing/factories'
import type { Event } from '../types'
import { Session } from './timeline'
import { barAt, neighborBar, firstBarFrom, layOutLanes, TRACK } from './layout'
import { TimeScale } from './timeScale'

const T = 1_700_000_000_000

/** Main: a prompt, a call with a wait in it, one beside it. Explore: one call. */
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

it('lanes stand below each other, as high as what is in them', () => {
  const { rows: strips, height } = layOutLanes(session.lanes, false)
  expect(strips.map((s) => s.lane)).toEqual([main, explore])
  expect(strips[0]?.height).toBeGreaterThan(strips[1]?.height ?? 0)
  expect(strips[1]?.top).toBe(strips[0]?.height)
  expect(height).toBe((strips[0]?.height ?? 0) + (strips[1]?.height ?? 0))
  expect(layOutLanes(session.lanes, true).height).toBeGreaterThan(height)
})

describe('what is at a place', () => {
  const { rows: strips } = layOutLanes(session.lanes, false)
  const first = (strips[0]?.tracks ?? 0) + TRACK / 2
  const at = (x: number, y: number) => barAt(strips, scale(), { x, y, now: T + 100_000 })

  it('is the call, and within it the wait', () => {
    expect(at(450, first)).toBe(named('Bash'))
    expect(at(200, first)).toBe(session.waits[0])
    expect(at(110, first)).toBe(named('Bash'))
  })

  it('is what overlaps on its own track, and what another lane has', () => {
    expect(at(200, first + TRACK)).toBe(named('Read'))
    expect(at(700, (strips[1]?.tracks ?? 0) + 5)).toBe(named('Grep'))
  })

  it('is the nearest mark, a little beside it too', () => {
    expect(at(3, strips[0]?.marks ?? 0)).toBe(named('UserPromptSubmit'))
    expect(at(996, strips[0]?.marks ?? 0)).toBe(named('Stop'))
    expect(at(500, strips[0]?.marks ?? 0)).toBeUndefined()
  })

  it('is nothing between and below', () => {
    expect(at(550, first)).toBeUndefined()
    expect(at(506, first)).toBe(named('Bash'))
    expect(at(500, 5000)).toBeUndefined()
  })
})

it('the first bar from a time on is found among thousands', () => {
  const track = Array.from({ length: 5000 }, (_, i) => ({ start: i * 10, end: i * 10 + 5 })) as never
  expect(firstBarFrom(track, 1005)).toBe(100)
  expect(firstBarFrom(track, 1006)).toBe(101)
  expect(firstBarFrom(track, -1)).toBe(0)
  expect(firstBarFrom(track, 1e9)).toBe(5000)
})

describe('arrows', () => {
  it('lead along a lane and stop at its ends', () => {
    const bars = main?.bars ?? []
    expect(neighborBar(session.lanes, bars[0]!, 'ArrowRight')).toBe(bars[1])
    expect(neighborBar(session.lanes, bars[1]!, 'ArrowLeft')).toBe(bars[0])
    expect(neighborBar(session.lanes, bars[0]!, 'ArrowLeft')).toBeUndefined()
    expect(neighborBar(session.lanes, bars[2]!, 'Home')).toBe(bars[0])
    expect(neighborBar(session.lanes, bars[2]!, 'End')).toBe(bars.at(-1))
  })

  it('lead to the other lane at about the same time', () => {
    expect(neighborBar(session.lanes, named('Bash')!, 'ArrowDown')).toBe(named('Grep'))
    expect(neighborBar(session.lanes, named('Grep')!, 'ArrowUp')).toBe(named('Stop'))
    expect(neighborBar(session.lanes, named('Grep')!, 'ArrowDown')).toBeUndefined()
  })
})
