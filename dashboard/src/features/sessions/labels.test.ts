import { formatLongDuration, formatRunTime } from '../../lib/format/clock'
import { describe, expect, it } from 'vitest'
import type { Session as SessionSummary } from '../../lib/api/schema'
import { aRequest, anEvent } from '../../testing/factories'
import { Session } from './timeline'
import { mergeSessions } from './mergeSessions'
import { formatDollars } from '../../lib/format/amounts'
import { sessionState, shortDir, barDescription, barStatus } from './labels'

it.each([
  [0, '< 1 ms'],
  [940, '940 ms'],
  [4200, '4.2 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [124_000, '2 min 4 s'],
  [3_600_000, '1 h'],
  [12_000_000, '3 h 20 min'],
  [183_600_000, '2 d 3 h'],
])('formatLongDuration(%i) is %s', (ms, text) => expect(formatLongDuration(ms)).toBe(text))

it.each([
  [0.004, '< $0.01'],
  [0.05, '$0.05'],
  [1234.5, '$1,234.50'],
])('formatDollars(%d) is %s', (usd, text) => expect(formatDollars(usd)).toBe(text))

it('formatRunTime has no milliseconds', () => {
  expect([0, 999, 4200].map(formatRunTime)).toEqual(['< 1 s', '< 1 s', '4.2 s'])
})

it.each([
  ['/home/dev/x', '~/x'],
  ['/Users/dev', '~'],
  ['/homes/dev', '/homes/dev'],
  ['/srv/x', '/srv/x'],
])('shortDir(%s) is %s', (dir, short) => expect(shortDir(dir)).toBe(short))

it('sessionState distinguishes needs-you, working, idle and ended', () => {
  const s = { pending: 0, ended: false, lastAt: 1000 }
  expect(sessionState({ ...s, pending: 1, ended: true }, 1e9)).toBe('needs-you')
  expect(sessionState({ ...s, ended: true }, 1000)).toBe('ended')
  expect(sessionState(s, 60_999)).toBe('working')
  expect(sessionState(s, 61_000)).toBe('idle')
  expect(sessionState({ ...s, asked: 1, events: 2 }, 1000)).toBe('working')
  expect(sessionState({ ...s, asked: 1, events: 1 }, 1000)).toBe('idle')
})

describe('barDescription', () => {
  it('says of a call without an answer that it has none, never that it was denied', () => {
    const session = new Session()
    const tool = { name: 'Bash', id: 'a' }
    session.addEvent(anEvent(1, { tool_name: 'Bash', tool_use_id: 'a', payload: {} }))
    const timeout = { status: 'timeout', outcome: '__timeout__', respondedAt: 1_700_000_001_000 } as const
    session.addEvent(aRequest(2, { type: 'permission', toolCall: tool as never }, timeout))
    const text = barDescription(session.bars[0]!, session, 0)
    expect(text).toContain('no answer')
    expect(text).not.toContain('denied')
  })

  it.each([
    ['dismissed', 'dismissed in the agent'],
    ['orphaned', 'the agent is gone'],
    ['session_end', 'the session ended'],
  ] as const)('tells the end %s of a call from a timeout', (source, label) => {
    const session = new Session()
    const tool = { name: 'Bash', id: 'a' }
    session.addEvent(anEvent(1, { tool_name: 'Bash', tool_use_id: 'a', payload: {} }))
    const status = {
      status: 'error',
      outcome: '__cancelled__',
      source,
      respondedAt: 1_700_000_001_000,
    } as const
    session.addEvent(aRequest(2, { type: 'permission', toolCall: tool as never }, status))
    const text = barDescription(session.bars[0]!, session, 0)
    expect(text).toContain(label)
    expect(text).not.toContain('no answer')
  })

  it('contains the name, the status and the duration', () => {
    const session = new Session()
    const tool = { tool_name: 'Bash', tool_use_id: 'a', payload: { tool_input: { command: 'make' } } }
    session.addEvent(anEvent(1, { ...tool, timestamp: 1_700_000_000_000 }))
    session.addEvent(anEvent(2, { ...tool, hook_event_type: 'PostToolUse', timestamp: 1_700_000_002_500 }))
    session.addEvent(aRequest(3, { question: 'Deploy?' }))
    expect(barDescription(session.bars[0]!, session, 0)).toMatch(/^Bash, make, done, 2\.5 s, /)
    expect(barDescription(session.bars[1]!, session, session.last + 4000)).toMatch(
      /^Permission, Deploy\?, needs you, 4 s, /,
    )
    session.updateStatus(3, { status: 'responded', revision: 2, outcome: 'deny', respondedAt: session.last })
    expect(barStatus(session.bars[1]!, session)).toEqual({ label: 'Denied', tone: 'no' })
    expect(barStatus(session.bars[0]!, session)).toBeUndefined()
  })
})

describe('mergeSessions', () => {
  const s = (id: string, lastAt: number) =>
    ({ source_app: 'a', session_id: id, lastAt, lastId: lastAt }) as SessionSummary
  const ids = (all: SessionSummary[]) => all.map((x) => `${x.session_id}${x.lastAt}`)

  it('merges newer summaries by last activity, without losing any', () => {
    expect(ids(mergeSessions([s('x', 3), s('y', 2)], [s('y', 5), s('z', 4)], false))).toEqual([
      'y5',
      'z4',
      'x3',
    ])
  })

  it('moves no row while frozen', () => {
    expect(ids(mergeSessions([s('x', 3), s('y', 2)], [s('y', 5), s('z', 4)], true))).toEqual(['x3', 'y5'])
  })
})
