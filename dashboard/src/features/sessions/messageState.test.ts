import { describe, expect, test } from 'vitest'
import type { Message } from '../../lib/api/schema'
import { mayResend, messageSteps, unsupportedReason } from './messageState'

const message = (state: Message['state']): Message => ({
  id: 1,
  state,
  source_app: 'shop',
  session_id: 's1',
  from: 'Ada',
  text: 'Hi',
  created_at: 1000,
  handed_at: 2000,
})

describe('Messages', () => {
  test('show a tick for each step', () => {
    expect((['saved', 'handed_over', 'acted_on', 'expired'] as const).map(messageSteps)).toEqual([1, 2, 3, 0])
  })

  test('can be sent again a minute after they were handed over', () => {
    expect(mayResend(message('handed_over'), 61_999)).toBe(false)
    expect(mayResend(message('handed_over'), 62_000)).toBe(true)
    expect(mayResend(message('saved'), 99_000)).toBe(false)
    expect(mayResend(message('acted_on'), 99_000)).toBe(false)
  })

  test('need an agent that can receive them, and a running session', () => {
    expect(unsupportedReason('claude-code', false)).toBeUndefined()
    expect(unsupportedReason('claude-code', true)).toBe('ended')
    expect(unsupportedReason('codex', false)).toBeUndefined()
    expect(unsupportedReason('cursor', false)).toBe('agent')
  })
})
