import { describe, expect, it } from 'vitest'
import { anEvent } from '../../testing/factories'
import type { Event } from '../../lib/api/types'
import { AXIS, layOutLanes, neighborBar, visiblePieces } from './laneRows'
import { Session, type Bar } from './timeline'
import { TimeScale } from './timeScale'

const T = 1_700_000_000_000

class Script {
  readonly session = new Session()
  private id = 0

  at(second: number, type: string, more: Partial<Event> = {}) {
    const hex = (T + second * 1000).toString(16).padStart(12, '0')
    const uid = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
    this.session.addEvent(anEvent(++this.id, { uid, hook_event_type: type, ...more }))
  }
}
const use = (tool: string): Partial<Event> => ({ tool_name: tool, tool_use_id: tool })

/** Main: a prompt, a call with a wait, and an overlapping call. Explore: one call. */
function aSession(): Session {
  const s = new Script()
  const explore = { agent_id: 'x', agent_type: 'Explore' }
  s.at(0, 'UserPromptSubmit')
  s.at(10, 'PreToolUse', use('Bash'))
  s.at(12, 'PermissionRequest', {
    ...use('Bash'),
    humanInTheLoop: { type: 'permission', question: 'May I?' },
    humanInTheLoopStatus: { status: 'responded', outcome: 'approve', respondedAt: T + 30_000 },
  })
  s.at(15, 'PreToolUse', use('Read'))
  s.at(40, 'PostToolUse', use('Read'))
  s.at(50, 'PostToolUse', use('Bash'))
  s.at(60, 'PreToolUse', { ...use('Grep'), ...explore })
  s.at(80, 'PostToolUse', { ...use('Grep'), ...explore })
  s.at(100, 'Stop')
  return s.session
}
const session = aSession()
const [main, explore] = session.lanes
const named = (what: string) =>
  session.bars.find((b) => (b.tool ?? b.event.hook_event_type) === what && b.kind !== 'wait')

it('layOutLanes stacks lanes by their lines: marks, then tracks', () => {
  const { rows, height } = layOutLanes(session.lanes)
  expect(rows.map((row) => row.lane)).toEqual([main, explore])
  expect(rows[0]?.lines.map(({ bars }) => bars)).toEqual([
    [named('UserPromptSubmit'), named('Stop')],
    [named('Bash')],
    [named('Read')],
  ])
  expect(rows[0]?.top).toBe(AXIS)
  expect(rows[0]?.height).toBeGreaterThan(rows[1]?.height ?? 0)
  expect(rows[1]?.top).toBe(AXIS + (rows[0]?.height ?? 0))
  expect(height).toBe(AXIS + (rows[0]?.height ?? 0) + (rows[1]?.height ?? 0))
})

describe('visiblePieces', () => {
  const now = T + 100_000
  const scale = new TimeScale(T, now, [], { left: 0, width: 1000 }) // 10 px a second
  const all = { from: 0, to: 1000, now }
  const brief = (bars: readonly Bar[], view = all) =>
    visiblePieces(bars, scale, view).map(({ bar, from, to }) => [bar.kind, bar.state, from, to])
  const bar = (from: number, to: number | undefined, more: Partial<Bar> = {}) =>
    ({
      kind: 'call',
      state: to === undefined ? 'running' : 'ok',
      start: T + from * 1000,
      end: to === undefined ? undefined : T + to * 1000,
      ...more,
    }) as Bar

  it('divides a call by its waits', () => {
    expect(brief([named('Bash')!])).toEqual([
      ['call', 'ok', 100, 120],
      ['wait', 'answered', 120, 300],
      ['call', 'ok', 300, 500],
    ])
  })

  it('ends with a wait that is pending, and with a call up to now', () => {
    const pending = bar(12, undefined, { kind: 'wait', state: 'waiting' })
    expect(brief([bar(10, undefined, { waits: [pending] })])).toEqual([
      ['call', 'running', 100, 120],
      ['wait', 'waiting', 120, 1000],
    ])
    expect(brief([bar(10, undefined)])).toEqual([['call', 'running', 100, 1000]])
  })

  it('has only what the view shows', () => {
    const bars = [bar(0, 10), bar(20, 30), bar(40, 50)]
    expect(brief(bars, { from: 150, to: 350, now })).toEqual([['call', 'ok', 200, 300]])
    expect(brief(bars, { from: 250, to: 260, now })).toEqual([['call', 'ok', 200, 300]])
  })

  it('merges bars that look the same at nearly one place, named by the one that ends last', () => {
    const long = bar(0.2, 9)
    const pieces = visiblePieces([bar(0, 0.1), long, bar(10, 10.1), bar(20, 21)], scale, all)
    expect(pieces.map(({ from, to }) => [from, to])).toEqual([
      [0, 90],
      [100, 102],
      [200, 210],
    ])
    expect(pieces[0]?.bar).toBe(long)
  })

  it('merges no failure into other calls', () => {
    expect(brief([bar(0, 0.1), bar(0.1, 0.2, { state: 'failed' }), bar(0.2, 0.3)])).toEqual([
      ['call', 'ok', 0, 4],
      ['call', 'failed', 1, 3],
    ])
  })

  it('has few elements for thousands of bars, also for calls that never end', () => {
    const ended = Array.from({ length: 5000 }, (_, i) => bar(i / 50, i / 50 + 0.01))
    expect(brief(ended).length).toBeLessThan(340)
    const open = brief(ended.map(({ start }) => bar((start - T) / 1000, undefined)))
    expect(open.length).toBeLessThan(340)
    for (const [i, [, , , to]] of open.slice(0, -1).entries()) expect(to).toBe(open[i + 1]?.[2])
  })
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
