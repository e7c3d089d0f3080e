import { describe, expect, it } from 'vitest'
import { anEvent } from '../../testing/factories'
import type { Event, HumanInTheLoop, Status } from '../../lib/api/types'
import { barDuration, barLine, runTime, Session, unionDuration, type Bar } from './timeline'
import { barName } from './labels'
import { assignTracks } from './laneRows'

const T = 1_700_000_000_000

/** A UUIDv7 of this time, from which the arrival time of an event is derived. */
function uidAt(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
}

/** Builds a session step by step. Times are seconds since its start. */
class Script {
  readonly session = new Session()
  private id = 0

  at(second: number, type: string, more: Partial<Event> = {}): number {
    const id = ++this.id
    this.session.addEvent(
      anEvent(id, { hook_event_type: type, uid: uidAt(T + second * 1000), timestamp: 0, ...more }),
    )
    return id
  }
  pre = (second: number, tool: string, use?: string, more: Partial<Event> = {}) =>
    this.at(second, 'PreToolUse', { tool_name: tool, tool_use_id: use, ...more })
  post = (second: number, tool: string, use?: string, more: Partial<Event> = {}) =>
    this.at(second, 'PostToolUse', { tool_name: tool, tool_use_id: use, ...more })
  ask = (second: number, question: Partial<HumanInTheLoop> = {}, more: Partial<Event> = {}) =>
    this.at(second, 'PermissionRequest', {
      humanInTheLoop: { type: 'permission', question: 'May I?', ...question },
      humanInTheLoopStatus: { status: 'pending', revision: 1 },
      ...more,
    })
  settle = (id: number, second: number, status: Partial<Status>) =>
    this.session.updateStatus(id, {
      status: 'responded',
      respondedAt: T + second * 1000,
      revision: 2,
      ...status,
    })

  /** The bars as text: kind, tool, start, end, state. */
  get bars(): string[] {
    return this.session.bars.map(brief)
  }
}

const secondsOf = (ms: number | undefined) => (ms === undefined ? '…' : String((ms - T) / 1000))
const brief = (b: Bar) =>
  b.kind === 'mark'
    ? `mark ${b.event.hook_event_type} ${secondsOf(b.start)}`
    : `${b.kind} ${b.tool ?? ''} ${secondsOf(b.start)}-${secondsOf(b.end)} ${b.state}`.replace('  ', ' ')

describe('Session telemetry', () => {
  it('is counted but adds no bar', () => {
    const s = new Script()
    s.at(0, 'UserPromptSubmit')
    s.at(1, 'SessionEnd')
    for (const type of ['ApiRequest', 'ApiUsage', 'StatusLine']) s.at(9, type)
    expect(s.session.bars).toHaveLength(2)
    expect(s.session.events).toBe(5)
    expect(s.session.last).toBe(T + 1000)
    s.at(10, 'ApiError', { error: 'Overloaded' })
    expect(s.session.bars).toHaveLength(3)
  })

  it('identifies the coding agent', () => {
    const s = new Script()
    s.at(0, 'SessionStart', { agent: 'codex' })
    s.at(1, 'Note')
    expect(s.session.codingAgent).toBe('codex')
  })
})

describe('Session calls', () => {
  it('combines the start and the end of a call into one bar', () => {
    const s = new Script()
    const pre = s.pre(1, 'Read', 'a')
    expect(s.bars).toEqual(['call Read 1-… running'])
    expect(s.session.busy).toBe(true)
    const post = s.post(3.5, 'Read', 'a')
    expect(s.bars).toEqual(['call Read 1-3.5 ok'])
    expect(s.session.busy).toBe(false)
    expect(s.session.bar(pre)).toBe(s.session.bar(post))
    expect(s.session.bar(post)?.ids).toEqual([pre, post])
    expect(s.session.bar(post)?.event.id).toBe(post)
  })

  it('reads the id and the tool from the payload', () => {
    const s = new Script()
    s.at(1, 'PreToolUse', { payload: { tool_name: 'Read', tool_use_id: 'a' } })
    s.at(2, 'PostToolUse', { payload: { tool_name: 'Read', tool_use_id: 'a' } })
    expect(s.bars).toEqual(['call Read 1-2 ok'])
  })

  it('pairs overlapping calls by id on separate tracks', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a')
    s.pre(2, 'Grep', 'b')
    s.post(3, 'Grep', 'b')
    s.pre(4, 'Glob', 'c')
    s.post(5, 'Read', 'a')
    s.post(6, 'Glob', 'c')
    s.pre(7, 'Bash', 'd')
    expect(s.bars).toEqual([
      'call Read 1-5 ok',
      'call Grep 2-3 ok',
      'call Glob 4-6 ok',
      'call Bash 7-… running',
    ])
    expect(assignTracks(s.session.bars).map((t) => t.map((b) => b.tool))).toEqual([
      ['Read', 'Bash'],
      ['Grep', 'Glob'],
    ])
  })

  it('pairs calls without an id by tool and arguments', () => {
    const s = new Script()
    const run = (command: string) => ({ payload: { tool_input: { command } } })
    s.pre(1, 'Bash', undefined, run('a'))
    s.pre(2, 'Bash', undefined, run('b'))
    s.post(3, 'Bash', undefined, run('b'))
    s.post(5, 'Bash', undefined, run('a'))
    expect(s.bars).toEqual(['call Bash 1-5 ok', 'call Bash 2-3 ok'])
  })

  it('supports the hook names of other agents', () => {
    const s = new Script()
    s.at(1, 'BeforeTool', { tool_name: 'ls' })
    s.at(2, 'AfterTool', { tool_name: 'ls' })
    s.at(3, 'beforeShellExecution', { tool_name: 'sh' })
    expect(s.bars).toEqual(['call ls 1-2 ok', 'call sh 3-… running'])
  })

  it('detects failures by type or error', () => {
    const s = new Script()
    s.pre(1, 'Bash', 'a')
    s.at(2, 'PostToolUseFailure', { tool_name: 'Bash', tool_use_id: 'a', error: 'exit 1' })
    s.pre(3, 'Bash', 'b')
    s.post(4, 'Bash', 'b', { error: 'broken' })
    expect(s.bars).toEqual(['call Bash 1-2 failed', 'call Bash 3-4 failed'])
    expect(s.session.turns[0]).toMatchObject({ calls: 2, failures: 2 })
  })

  it('derives a missing start from the reported duration', () => {
    const s = new Script()
    s.at(0, 'SessionStart')
    s.post(5, 'Read', 'a', { payload: { duration_ms: 2000 } })
    s.post(6, 'Grep', 'b')
    s.post(7, 'Huge', 'c', { payload: { duration_ms: 9e9 } })
    expect(s.bars.slice(1)).toEqual(['call Read 3-5 ok', 'call Grep 6-6 ok', 'call Huge 0-7 ok'])
    expect(s.session.bars[1]?.startUnknown).toBe(true)
  })

  it('marks calls as lost once the agent continues', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a')
    s.at(2, 'Stop')
    s.pre(3, 'Grep', 'b')
    s.at(4, 'UserPromptSubmit')
    s.pre(5, 'Bash', 'c')
    s.at(6, 'SessionEnd')
    expect(s.bars.filter((b) => b.startsWith('call'))).toEqual([
      'call Read 1-2 lost',
      'call Grep 3-4 lost',
      'call Bash 5-6 lost',
    ])
    s.post(9, 'Bash', 'c') // the end arrives late
    expect(s.bars.at(-2)).toBe('call Bash 5-9 ok')
  })

  it('merges a call reported twice, and separates a reused id', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a')
    s.pre(1, 'Read', 'a')
    s.post(2, 'Read', 'a')
    s.post(2.1, 'Read', 'a')
    expect(s.bars).toEqual(['call Read 1-2 ok'])
    expect(s.session.bars[0]?.ids).toEqual([1, 2, 3, 4])
    s.pre(3, 'Read', 'a')
    s.at(4, 'PostToolUseFailure', { tool_name: 'Read', tool_use_id: 'a' })
    expect(s.bars).toEqual(['call Read 1-2 ok', 'call Read 3-4 failed'])
    expect(s.session.turns[0]?.calls).toBe(2)
  })

  it('shows calls denied by a rule', () => {
    const s = new Script()
    s.pre(1, 'Bash', 'a')
    s.at(2, 'PermissionDenied', { tool_name: 'Bash', tool_use_id: 'a' })
    expect(s.bars).toEqual(['call Bash 1-2 denied'])
  })

  it('limits the number of tracks', () => {
    const s = new Script()
    for (let i = 0; i < 30; i++) s.pre(i, 'Read', `c${i}`)
    expect(assignTracks(s.session.bars)).toHaveLength(8)
  })
})

describe('Session time', () => {
  it('ignores the clocks of agents', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a', { timestamp: T + 9e9 })
    s.post(2, 'Read', 'a', { timestamp: T - 9e9 })
    expect(s.bars).toEqual(['call Read 1-2 ok'])
  })

  it('never decreases if the hub’s clock is set back', () => {
    const s = new Script()
    s.pre(10, 'Read', 'a')
    s.post(4, 'Read', 'a')
    s.at(5, 'Stop')
    expect(s.bars).toEqual(['call Read 10-10 ok', 'mark Stop 10'])
    expect(s.session.last).toBe(T + 10_000)
  })

  it('falls back to timestamps without a uid', () => {
    const session = new Session()
    session.addEvent(anEvent(1, { timestamp: 5 }))
    session.addEvent(anEvent(2, { timestamp: undefined }))
    expect(session.bars.map((b) => b.start)).toEqual([5, 5])
  })

  it('ends now while busy, else with the last event', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a')
    expect(s.session.end(T + 60_000)).toBe(T + 60_000)
    s.post(2, 'Read', 'a')
    expect(s.session.end(T + 60_000)).toBe(T + 2000)
  })

  it('adds every event once, in log order', () => {
    const session = new Session()
    session.addEvent(anEvent(5))
    session.addEvent(anEvent(5))
    session.addEvent(anEvent(3))
    session.addEvent(anEvent(6))
    expect([session.events, session.lastId, session.bars.length]).toEqual([2, 6, 2])
  })
})

describe('Session waits', () => {
  it('grow while pending and end with the answer', () => {
    const s = new Script()
    const id = s.ask(2)
    expect(s.bars).toEqual(['wait 2-… waiting'])
    expect([...s.session.pendingQuestions]).toEqual([id])
    expect(barDuration(s.session.bars[0]!, T + 12_000)).toBe(10_000)
    s.settle(id, 9, { outcome: 'approve' })
    expect(s.bars).toEqual(['wait 2-9 answered'])
    expect([...s.session.pendingQuestions]).toEqual([])
  })

  it('are resolved if the event contains the outcome', () => {
    const s = new Script()
    s.ask(2, {}, { humanInTheLoopStatus: { status: 'timeout', respondedAt: T + 5000 } })
    expect(s.bars).toEqual(['wait 2-5 unanswered'])
    expect(s.session.busy).toBe(false)
  })

  it('ignore older revisions', () => {
    const s = new Script()
    const id = s.ask(2)
    s.settle(id, 9, { revision: 1 })
    expect(s.bars).toEqual(['wait 2-… waiting'])
    s.settle(id, 9, { revision: 3, status: 'pending', held: { until: 0, outcome: 'approve' } })
    expect(s.bars).toEqual(['wait 2-… waiting'])
    s.settle(id, 9, { revision: 2 })
    expect(s.bars).toEqual(['wait 2-… waiting'])
    s.settle(99, 9, {})
    expect(s.bars).toHaveLength(1)
  })

  it('never end before they start', () => {
    const s = new Script()
    s.settle(s.ask(5), 1, {})
    expect(s.bars).toEqual(['wait 5-5 answered'])
  })

  it('share one track if they overlap, and no call joins them', () => {
    const s = new Script()
    const [first] = [s.ask(1), s.ask(2), s.ask(3)]
    s.settle(first + 1, 4, {})
    s.settle(first + 2, 5, {})
    s.pre(6, 'Bash', 'a')
    const tracks = () => assignTracks(s.session.bars).map((track) => track.map(brief))
    expect(tracks()).toEqual([
      ['wait 1-… waiting', 'wait 2-4 answered', 'wait 3-5 answered'],
      ['call Bash 6-… running'],
    ])
    s.settle(first, 7, {})
    s.pre(8, 'Read', 'b')
    expect(tracks()[0]?.at(-1)).toBe('call Read 8-… running')
  })

  it('block the call with their id', () => {
    const s = new Script()
    s.pre(1, 'Bash', 'a')
    s.pre(1, 'Bash', 'b')
    const id = s.ask(2, { toolCall: { name: 'Bash', id: 'a' } })
    s.settle(id, 8, { outcome: 'approve' })
    s.post(10, 'Bash', 'a')
    const call = s.session.bars[0]!
    expect(call.waits).toEqual([s.session.bar(id)])
    expect(s.session.bar(id)?.host).toBe(call)
    expect(runTime(call, T)).toBe(3000)
    expect(assignTracks(s.session.bars).flat()).toHaveLength(2) // the wait is drawn inside its call
    expect(s.session.row(s.session.bar(id)!)).toBe(s.session.row(call)) // and is in its row
  })

  it('block the newest call with the same tool and arguments if there is no id', () => {
    const s = new Script()
    const run = (command: string) => ({ payload: { tool_input: { command } } })
    s.pre(1, 'Bash', 'a', run('ls'))
    s.pre(1, 'Bash', 'b', run('rm'))
    const id = s.ask(2, {}, { tool_name: 'Bash', ...run('rm') })
    expect(s.session.bar(id)?.host).toBe(s.session.bars[1])
    const other = s.ask(3, {}, { tool_name: 'Bash', ...run('cp') })
    expect(s.session.bar(other)?.host).toBeUndefined()
  })

  it('end the call on denial', () => {
    const s = new Script()
    s.pre(1, 'Bash', 'a')
    s.settle(s.ask(2, { toolCall: { name: 'Bash', id: 'a' } }), 6, { outcome: 'deny' })
    expect(s.bars).toEqual(['call Bash 1-6 denied', 'wait Bash 2-6 denied'])
    expect(s.session.busy).toBe(false)
  })

  it('end the call without an answer, but not on approval', () => {
    for (const [status, want] of [
      [{ status: 'timeout', outcome: '__timeout__' }, 'call Bash 1-6 unanswered'],
      [{ outcome: 'approve', response: { permission: true, respondedAt: 0 } }, 'call Bash 1-… running'],
    ] as const) {
      const s = new Script()
      s.pre(1, 'Bash', 'a')
      s.settle(s.ask(2, { toolCall: { name: 'Bash', id: 'a' } }), 6, status)
      expect(s.bars[0]).toBe(want)
    }
  })

  it('show a call that the hook denied without a person', () => {
    const s = new Script()
    const hook = { verdict: 'deny', by: 'policy', rule: 'hookback.json:3' }
    s.pre(1, 'Bash', 'a', { hook } as Partial<Event>)
    s.pre(2, 'Bash', 'b', { hook: { verdict: 'allow', by: 'policy' } } as Partial<Event>)
    expect(s.bars).toEqual(['call Bash 1-1 denied', 'call Bash 2-… running'])
  })

  it('show a denied call that ran anyway', () => {
    const s = new Script()
    s.pre(1, 'Bash', 'a')
    s.settle(s.ask(2, { toolCall: { name: 'Bash', id: 'a' } }), 6, { outcome: 'deny' })
    s.post(9, 'Bash', 'a')
    expect(s.bars[0]).toBe('call Bash 1-9 ok')
  })

  it('can share an event with the start of the call', () => {
    const s = new Script()
    const id = s.pre(1, 'Bash', 'a', {
      humanInTheLoop: { type: 'permission', question: 'May I?' },
      humanInTheLoopStatus: { status: 'pending', revision: 1 },
    })
    expect(s.bars).toEqual(['call Bash 1-… running', 'wait Bash 1-… waiting'])
    expect(s.session.bar(id)?.kind).toBe('wait')
    s.settle(id, 4, { response: { permission: false, respondedAt: 0 } })
    expect(s.bars).toEqual(['call Bash 1-4 denied', 'wait Bash 1-4 denied'])
  })

  it('count once if they overlap', () => {
    const s = new Script()
    const ids = [s.ask(0), s.ask(2), s.ask(20)]
    s.settle(ids[0]!, 10, {})
    s.settle(ids[1]!, 5, {})
    expect(unionDuration(s.session.waits, T + 25_000)).toBe(15_000)
  })

  it('do not exist for questions that require no answer', () => {
    const s = new Script()
    s.ask(1, { requiresResponse: false })
    expect(s.bars).toEqual(['mark PermissionRequest 1'])
  })
})

describe('Session lanes', () => {
  const sub = (id: string, type = 'Explore'): Partial<Event> => ({ agent_id: id, agent_type: type })

  it('separate interleaved agents', () => {
    const s = new Script()
    s.at(0, 'UserPromptSubmit')
    s.at(1, 'SubagentStart', sub('x'))
    s.at(1, 'SubagentStart', sub('y'))
    s.pre(2, 'Read', 'a', sub('x'))
    s.pre(2, 'Read', 'b', sub('y'))
    s.pre(3, 'Bash', 'c')
    s.post(4, 'Read', 'b', sub('y'))
    s.post(5, 'Read', 'a', sub('x'))
    s.at(6, 'SubagentStop', sub('x'))
    const tracks = (lane: number) => assignTracks(s.session.lanes[lane]!.bars).flat().map(brief)
    expect(s.session.lanes.map((l) => l.name)).toEqual(['main', 'Explore', 'Explore 2'])
    expect(tracks(1)).toEqual(['call Read 2-5 ok'])
    expect(tracks(2)).toEqual(['call Read 2-4 ok'])
    expect(secondsOf(s.session.lanes[1]?.end)).toBe('6')
    expect(s.session.lanes[2]?.end).toBeUndefined()
    expect(s.session.bars.find((b) => b.tool === 'Bash')?.state).toBe('running')
  })

  it('lose only the calls of the agent that ended', () => {
    const s = new Script()
    s.pre(1, 'Task', 'm')
    s.pre(2, 'Read', 'a', sub('x'))
    s.pre(2, 'Read', 'b', sub('y'))
    s.at(3, 'SubagentStop', sub('x'))
    expect(s.bars.filter((b) => b.startsWith('call'))).toEqual([
      'call Task 1-… running',
      'call Read 2-3 lost',
      'call Read 2-… running',
    ])
  })

  it('put a subagent below the agent that started it', () => {
    const s = new Script()
    const task = (kind: string) => ({ payload: { tool_input: { subagent_type: kind } } })
    s.pre(1, 'Task', 'm', task('Plan'))
    s.at(2, 'SubagentStart', sub('p', 'Plan'))
    s.pre(3, 'Task', 'n', { ...sub('p', 'Plan'), ...task('Explore') })
    s.at(4, 'SubagentStart', sub('e', 'Explore'))
    s.at(5, 'SubagentStart', sub('o', 'Other'))
    s.at(6, 'SubagentStart', { ...sub('q', 'Deep'), payload: { parent_agent_id: 'e' } })
    expect(s.session.lanes.map((l) => [l.name, l.parent?.name, l.depth])).toEqual([
      ['main', undefined, 0],
      ['Plan', 'main', 0],
      ['Explore', 'Plan', 1],
      ['Deep', 'Explore', 2],
      ['Other', 'main', 0],
    ])
  })

  it('put the main lane above a subagent that is reported first', () => {
    const s = new Script()
    s.pre(1, 'Read', 'a', { payload: { agent_id: 'x', agent_type: 'Explore' } })
    s.at(2, 'Stop')
    expect(s.session.lanes.map((l) => l.name)).toEqual(['main', 'Explore'])
  })

  it('name an agent without a type by its short id', () => {
    const s = new Script()
    s.at(1, 'SubagentStart', { agent_id: 'a4d2c8f1e0b3a297' })
    expect(s.session.lanes[1]?.name).toBe('a4d2c8f1')
  })
})

describe('Session turns', () => {
  it('start with a user prompt, not with one to a subagent', () => {
    const s = new Script()
    s.at(0, 'SessionStart')
    s.at(1, 'UserPromptSubmit', { payload: { prompt: 'one' } })
    s.pre(2, 'Read', 'a')
    s.post(3, 'Read', 'a')
    s.at(4, 'UserPromptSubmit', { agent_id: 'x' })
    s.at(5, 'UserPromptSubmit', { payload: { prompt: 'two' } })
    s.pre(6, 'Bash', 'b')
    expect(s.session.turns.map((t) => [t.prompt?.event.payload.prompt, t.calls])).toEqual([
      [undefined, 0],
      ['one', 1],
      ['two', 1],
    ])
    expect(s.session.turns.map((t) => secondsOf(t.end))).toEqual(['0', '4', '6'])
  })

  it('do not start when a background task ends', () => {
    const s = new Script()
    const told = '<task-notification>\n<summary>Agent "Explore" completed</summary>\n</task-notification>'
    s.at(1, 'UserPromptSubmit', { payload: { prompt: 'one' } })
    s.at(2, 'UserPromptSubmit', { payload: { prompt: told }, summary: 'Agent "Explore" completed' })
    s.pre(3, 'Read', 'a')
    s.post(4, 'Read', 'a')
    expect(s.session.turns.map((t) => [t.prompt?.event.payload.prompt, t.calls])).toEqual([['one', 1]])
    const bar = s.session.bars[1]
    expect(bar && [barName(bar), bar.style, barLine(bar)]).toEqual([
      'Background task',
      'note',
      'Agent "Explore" completed',
    ])
  })

  it('list their bars, and every bar has a row index', () => {
    const s = new Script()
    s.at(1, 'UserPromptSubmit')
    s.pre(2, 'Read', 'a')
    s.post(3, 'Read', 'a')
    s.at(4, 'UserPromptSubmit')
    s.at(5, 'Stop')
    expect(s.session.rows.map((r) => (r.turn ? `turn ${r.turn.index}` : brief(r.bar)))).toEqual([
      'turn 0',
      'call Read 2-3 ok',
      'turn 1',
      'mark Stop 5',
    ])
    expect(s.session.rows.map((r) => r.headingsBefore)).toEqual([0, 1, 1, 2])
    expect(s.session.bars.map((bar) => s.session.row(bar))).toEqual([0, 1, 2, 3])
  })
})

it('Session maps each of 20,000 events to its bar', () => {
  const s = new Script()
  for (let i = 0; i < 5000; i++) {
    if (i % 50 === 0) s.at(i, 'UserPromptSubmit')
    const agent: Partial<Event> = i % 3 === 0 ? {} : { agent_id: `a${i % 7}`, agent_type: 'Explore' }
    s.pre(i, 'Read', `u${i}`, agent)
    s.pre(i, 'Grep', `v${i}`, agent)
    s.post(i + 0.4, 'Grep', `v${i}`, agent)
    s.post(i + 0.5, 'Read', `u${i}`, agent)
  }
  const { session } = s
  expect(session.events).toBe(20_100)
  expect(session.turns).toHaveLength(100)
  expect(session.busy).toBe(false)
  expect(session.bars.filter((b) => b.kind === 'call' && b.state === 'ok')).toHaveLength(10_000)
  for (let id = 1; id <= 20_100; id += 97) expect(session.bar(id)?.ids).toContain(id)
  const ids = session.bars.flatMap((b) => b.ids)
  expect(new Set(ids).size).toBe(20_100)
})
