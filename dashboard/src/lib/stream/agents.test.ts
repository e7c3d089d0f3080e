import { describe, expect, it, test } from 'vitest'
import { aRequest, anEvent } from '../../testing/factories'
import {
  AgentRegistry,
  TEST_APP,
  agentState,
  appState,
  requestIndex,
  turnPhase,
  type AgentFacts,
  type AgentState,
} from './agents'
import { groupRequests, toRequest, type Request } from './requests'
import type { Freeze } from '../api/schema'
import type { Event } from '../api/types'

test('AgentRegistry lists no test requests', () => {
  const agents = new AgentRegistry()
  agents.observe({ ...anEvent(1), source_app: 'api' })
  agents.observe({ ...anEvent(2), source_app: TEST_APP })
  expect(agents.all().map((a) => a.name)).toEqual(['api'])
})

test('AgentRegistry counts an imported session as ended, at its own time', () => {
  const agents = new AgentRegistry()
  const imported = { ...anEvent(1), source_app: 'shop', hook_event_type: 'SessionImported', timestamp: 5 }
  agents.observe(imported)
  expect(agents.all()).toEqual([{ name: 'shop', lastSeen: 5, session: 's1', ended: true }])
  agents.observe({ ...anEvent(2), source_app: 'shop' })
  agents.observe({ ...imported, id: 3 })
  expect(agents.all()[0]?.ended).toBe(false)
})

describe('agentState', () => {
  const now = 1_000_000
  it.each<[string, AgentFacts, AgentState]>([
    ['an event just now', { lastAt: now }, 'working'],
    ['59 s without events', { lastAt: now - 59_999 }, 'working'],
    ['a minute without events', { lastAt: now - 60_000 }, 'idle'],
    ['a call that runs for minutes', { lastAt: now - 599_999, running: true }, 'working'],
    ['a call without an end', { lastAt: now - 600_000, running: true }, 'idle'],
    ['failed calls', { lastAt: now, failing: true, running: true }, 'failing'],
    ['an end after failed calls', { lastAt: now, failing: true, ended: true }, 'ended'],
    ['a freeze', { lastAt: now, frozen: true, failing: true }, 'frozen'],
    ['an end of a frozen session', { lastAt: now, frozen: true, ended: true }, 'ended'],
    ['a request without a listener', { lastAt: now, lostAt: now }, 'gone'],
    ['an event after that', { lastAt: now, lostAt: now - 1 }, 'working'],
    ['a turn that ended', { lastAt: now, phase: 'turn_ended', running: true }, 'turn-ended'],
    ['a session without a prompt', { lastAt: now, phase: 'no_turn' }, 'idle'],
    ['a prompt in the terminal', { lastAt: 0, phase: 'terminal' }, 'terminal'],
    ['votes of others', { lastAt: now, waits: true }, 'idle'],
    ['an answer that was not delivered', { lastAt: now, undelivered: true, waits: true }, 'undelivered'],
    [
      'a request',
      { lastAt: 0, asks: true, undelivered: true, ended: true, failing: true, waits: true },
      'needs-you',
    ],
  ])('%s', (_, facts, state) => expect(agentState(facts, now)).toBe(state))
})

test.each<[string, Partial<Event>[], ReturnType<typeof turnPhase>]>([
  ['a session that starts', [{ hook_event_type: 'SessionStart' }], 'no_turn'],
  ['a compaction', [{ hook_event_type: 'SessionStart', payload: { source: 'compact' } }], undefined],
  ['a turn that ended', [{ hook_event_type: 'Stop' }, { hook_event_type: 'ConfigChange' }], 'turn_ended'],
  ['a subagent that stopped', [{ hook_event_type: 'Stop', agent_id: 'a1' }], undefined],
  [
    'a wait for a prompt',
    [{ hook_event_type: 'Notification', notification_type: 'idle_prompt' }],
    'turn_ended',
  ],
  ['the next turn', [{ hook_event_type: 'Stop' }, { hook_event_type: 'UserPromptSubmit' }], undefined],
  ['a prompt in the terminal', [{ hook_event_type: 'PermissionRequest' }], 'terminal'],
  [
    'a notification of it',
    [{ hook_event_type: 'Notification', payload: { notification_type: 'ToolPermission' } }],
    'terminal',
  ],
  [
    'a call that ran',
    [{ hook_event_type: 'PermissionRequest' }, { hook_event_type: 'PostToolUse' }],
    undefined,
  ],
  [
    'a request here',
    [{ hook_event_type: 'PermissionRequest', humanInTheLoop: { question: '?', type: 'permission' } }],
    undefined,
  ],
  [
    'a verdict of the policy',
    [{ hook_event_type: 'PermissionRequest', hook: { verdict: 'deny' } } as Partial<Event>],
    undefined,
  ],
  [
    'hostile members',
    [{ hook_event_type: 'Notification', payload: { notification_type: [7], message: {} } }],
    undefined,
  ],
])('turnPhase follows %s', (_, events, phase) => {
  expect(
    events.map((e, i) => anEvent(i + 1, e)).reduce(turnPhase, undefined as ReturnType<typeof turnPhase>),
  ).toBe(phase)
})

test('the state of an application follows the turn of its last session', () => {
  const agents = new AgentRegistry()
  const state = () =>
    appState(agents.all()[0]!, groupRequests([], 0, new Map(), ''), anEvent(3).timestamp ?? 0)
  agents.observe(anEvent(1, { hook_event_type: 'Stop' }))
  expect(state()).toBe('turn-ended')
  agents.observe(anEvent(2, { hook_event_type: 'Notification', session_id: 'other' }))
  expect(state()).toBe('working')
})

test('a program that only asks does not count as working', () => {
  const state = (...types: string[]) => {
    const agents = new AgentRegistry()
    for (const [i, hook_event_type] of types.entries()) agents.observe(anEvent(i + 1, { hook_event_type }))
    return appState(agents.all()[0]!, groupRequests([], 0, new Map(), ''), anEvent(3).timestamp ?? 0)
  }
  expect(state('DecisionPoint', 'DecisionPoint')).toBe('idle')
  expect(state('DecisionPoint', 'PreToolUse')).toBe('working')
  expect(state('PreToolUse', 'DecisionPoint')).toBe('working')
})

describe('requestIndex', () => {
  const request = (e: Event) => toRequest(e) as Request
  const at = anEvent(0).timestamp ?? 0
  const lists = groupRequests(
    [
      request(aRequest(1)),
      request(aRequest(2)),
      request({ ...aRequest(3, {}, { waiter: 'lost' }), source_app: 'web' }),
      request({ ...aRequest(4), session_id: 's2' }),
      request({ ...aRequest(5, {}, { recipients: ['eve'], awaiting: ['eve'] }), source_app: 'ops' }),
      request({ ...aRequest(6, { requiresResponse: false }), source_app: 'note' }),
    ],
    at,
    new Map(),
    'ada',
  )
  const index = requestIndex(lists)

  it('is made once per lists', () => expect(requestIndex(lists)).toBe(index))

  it('has the oldest request of a session and of an application', () => {
    expect(index.of('api', 's1').asks?.id).toBe(1)
    expect(index.of('api', 's2').asks?.id).toBe(4)
    expect(index.of('api').asks?.id).toBe(1)
    expect(index.of('api').waitsSince).toBe(at + 1)
    expect(index.of('none')).toEqual({})
  })

  it('counts the requests that need the user', () => {
    expect(index.of('api', 's1').needs).toBe(2)
    expect(index.of('api').needs).toBe(3)
    expect(index.of('web', 's1').needs).toBeUndefined()
    expect(index.of('note', 's1').needs).toBeUndefined()
  })

  it('distinguishes lost requests, those of others and information', () => {
    expect(index.of('web', 's1')).toEqual({ lostAt: at + 3 })
    expect(index.of('ops', 's1')).toEqual({ waitsSince: at + 5 })
    expect(index.of('note', 's1').waitsSince).toBeUndefined()
  })

  it('gives the state of an application', () => {
    const agent = (name: string, lastSeen: number) => ({ name, lastSeen, ended: false, session: 's1' })
    expect(appState(agent('api', at), lists, at)).toBe('needs-you')
    expect(appState(agent('web', at + 3), lists, at + 3)).toBe('gone')
    expect(appState(agent('web', at + 4), lists, at + 4)).toBe('working')
    expect(appState(agent('other', at), lists, at)).toBe('working')
  })

  it('shows an application as frozen if its last session is', () => {
    const freeze = { id: 1, scope: 'session', source_app: 'other', session_id: 's1' } as Freeze
    const agent = (session: string) => ({ name: 'other', lastSeen: at, ended: false, session })
    expect(appState(agent('s1'), lists, at, [freeze])).toBe('frozen')
    expect(appState(agent('s2'), lists, at, [freeze])).toBe('working')
  })
})
