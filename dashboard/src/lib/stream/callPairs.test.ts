import { describe, expect, it } from 'vitest'
import { Entry } from './eventView'
import { anEvent } from '../../testing/factories'
import { CallPairs } from './callPairs'

const call = (id: number, type: string, use: string, more = {}) =>
  new Entry(
    anEvent(id, { hook_event_type: type, payload: { tool_use_id: use }, timestamp: id * 100, ...more }),
  )

describe('CallPairs', () => {
  it.each([
    ['live', false],
    ['from the history, backward', true],
  ])('pairs the start and end of a call, %s', (_, backwards) => {
    const all = [
      call(1, 'PreToolUse', 'a'),
      call(2, 'PreToolUse', 'b'),
      call(5, 'PostToolUse', 'a'),
      call(9, 'PostToolUseFailure', 'b'),
    ]
    const pairs = new CallPairs()
    for (const entry of backwards ? all.toReversed() : all) pairs.add(entry)
    expect(all.map((e) => e.durationMs)).toEqual([undefined, undefined, 400, 700])
  })

  it.each([
    ['live', false],
    ['from the history, backward', true],
  ])('excludes human wait from the duration, %s', (_, backwards) => {
    const asked = (id: number, use: string, respondedAt?: number) =>
      call(id, 'PermissionRequest', use, {
        humanInTheLoop: { question: 'May I?', type: 'permission' },
        humanInTheLoopStatus: respondedAt ? { status: 'responded', respondedAt } : { status: 'pending' },
      })
    const all = [
      call(1, 'PreToolUse', 'a'),
      asked(2, 'a', 1000),
      asked(3, 'a', 1100), // while the first one waits: each moment counts once
      call(12, 'PostToolUse', 'a'),
      call(20, 'PreToolUse', 'b'),
      asked(21, 'b'),
      call(90, 'PostToolUse', 'b'), // answered in the terminal at an unknown time
    ]
    const pairs = new CallPairs()
    for (const entry of backwards ? all.toReversed() : all) pairs.add(entry)
    expect([all[3]?.durationMs, all[6]?.durationMs]).toEqual([200, undefined])
  })

  it('pairs only events of one session and of a call with an id', () => {
    const pairs = new CallPairs()
    const post = call(2, 'PostToolUse', 'a', { session_id: 'other' })
    const nameless = call(4, 'PostToolUse', '')
    for (const e of [call(1, 'PreToolUse', 'a'), post, call(3, 'PreToolUse', ''), nameless]) pairs.add(e)
    expect([post.durationMs, nameless.durationMs]).toEqual([undefined, undefined])
  })

  it('keeps a bounded number of unpaired calls', () => {
    const pairs = new CallPairs()
    for (let i = 0; i < 6000; i++) pairs.add(call(i, 'PreToolUse', `use ${i}`))
    const first = call(7000, 'PostToolUse', 'use 0')
    const last = call(7001, 'PostToolUse', 'use 5999')
    pairs.add(first)
    pairs.add(last)
    expect([first.durationMs, last.durationMs]).toEqual([undefined, 100_200])
  })
})
