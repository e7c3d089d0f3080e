import { expect, test } from 'vitest'
import { aRequest, anEvent } from '../../testing/factories'
import { newestOf, newestUserQuestion } from './steps'
import { codingAgents } from '../../lib/format/codingAgents'
import { loadLastSeen, hasUnknownEvent, hubEnvPrefix, saveLastSeen, agentCommands } from './agentCommands'

test('commands contain the hub address unless it is the default', () => {
  const hub = 'http://127.0.0.1:5123'
  expect(hubEnvPrefix(hub)).toContain(hub)
  for (const { command } of agentCommands(hub)) expect(command).toMatch(/ --hub 127\.0\.0\.1:5123$/)
  expect(hubEnvPrefix('http://127.0.0.1:4000')).toBe('')
  expect(agentCommands('http://localhost:4000')[0]?.command).toBe('hookback install --agent claude')
  expect(agentCommands('http://10.0.0.7:81')[1]?.command).toBe(
    'hookback install --agent codex --hub 10.0.0.7:81',
  )
  expect(agentCommands('https://h.example')[1]?.command).toBe(
    'hookback install --agent codex --hub https://h.example',
  )
})

test('agentCommands lists every known coding agent', () => {
  expect(agentCommands('').map((w) => w.agent)).toEqual(codingAgents())
})

test('agents that a test runs have a proven version, others have none', () => {
  const proven = new Map(agentCommands('').map((row) => [row.agent.id, row.proven]))
  expect(proven.get('claude-code')).toMatch(/^\d+\.\d+\.\d+$/)
  expect(proven.get('windsurf')).toBeUndefined()
})

test('saveLastSeen stores times, and loadLastSeen returns them', () => {
  saveLastSeen({ codex: 5 })
  expect(loadLastSeen()).toEqual({ codex: 5 })
  localStorage.setItem('hookback.setup.heard', 'null')
  expect(loadLastSeen()).toEqual({})
})

test('newestOf returns the newest event of an app', () => {
  const newest = [
    anEvent(3, { source_app: 'other' }),
    anEvent(2, { source_app: 'a' }),
    anEvent(1, { source_app: 'a' }),
  ].map((event) => ({ event }))
  expect([newestOf(newest, 'a')?.id, newestOf(newest, 'b')]).toEqual([2, undefined])
})

test('newestUserQuestion ignores test requests', () => {
  const ask = (id: number, source_app: string) => ({ event: { ...aRequest(id), source_app } })
  expect(
    newestUserQuestion([{ event: anEvent(4) }, ask(3, 'hookback-test'), ask(2, 'deploy'), ask(1, 'from-ask')])
      ?.id,
  ).toBe(2)
  expect(newestUserQuestion([ask(3, 'hookback-test'), { event: anEvent(2) }])).toBeUndefined()
})

test('an event that the hook did not know is recognized', () => {
  expect(hasUnknownEvent(anEvent(1))).toBe(false)
  expect(hasUnknownEvent({ ...anEvent(1), ...{ hook: { unknownEvent: true } } })).toBe(true)
})
