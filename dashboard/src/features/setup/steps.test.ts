import { expect, test } from 'vitest'
import { aRequest, anEvent } from '../../testing/factories'
import { newestByApp, newestUserQuestion, setupSteps } from './steps'
import { codingAgents } from '../../lib/format/codingAgents'
import {
  loadLastSeen,
  hasUnknownEvent,
  httpHookSettings,
  saveLastSeen,
  telemetryEnv,
  agentCommands,
} from './agentCommands'

const all = (hub: string) => setupSteps(hub).flatMap((step) => step.commands.map((command) => command.text))

test('commands contain the hub address unless it is the default', () => {
  const hub = 'http://127.0.0.1:5123'
  const commands = [...all(hub).slice(1), httpHookSettings(hub), telemetryEnv(hub)]
  for (const text of commands) expect(text).toContain(hub)
  for (const { command } of agentCommands(hub)) expect(command).toMatch(/ --hub 127\.0\.0\.1:5123$/)
  expect(all('http://127.0.0.1:4000')[1]).toMatch(/^hookback ask /)
  expect(agentCommands('http://localhost:4000')[0]?.command).toBe('hookback install --agent claude')
  expect(agentCommands('http://10.0.0.7:81')[1]?.command).toBe(
    'hookback install --agent codex --hub 10.0.0.7:81',
  )
  expect(agentCommands('https://h.example')[1]?.command).toBe(
    'hookback install --agent codex --hub https://h.example',
  )
})

test('each step has its own source app, and its command sends it', () => {
  const steps = setupSteps('http://127.0.0.1:4000')
  expect(new Set(steps.map((step) => step.app)).size).toBe(steps.length)
  for (const step of steps) expect(step.commands.at(-1)?.text).toContain(step.app)
})

test('agentCommands lists every known coding agent', () => {
  expect(agentCommands('').map((w) => w.agent)).toEqual(codingAgents())
})

test('agents that a test runs have a proven version, others have none', () => {
  const proven = new Map(agentCommands('').map((row) => [row.agent.id, row.proven]))
  expect(proven.get('claude-code')).toMatch(/^\d+\.\d+\.\d+$/)
  expect(proven.get('windsurf')).toBeUndefined()
})

test('httpHookSettings is JSON, with timeouts for the hooks that ask', () => {
  const { hooks } = JSON.parse(httpHookSettings('http://x:1')) as {
    hooks: Record<string, { hooks: { url: string; timeout?: number }[] }[]>
  }
  for (const [name, [group]] of Object.entries(hooks)) {
    const limit = { PermissionRequest: 3600, Elicitation: 120 }[name]
    expect(group?.hooks[0]?.timeout, name).toBe(limit)
    expect(group?.hooks[0]?.url.endsWith(`?limit=${limit}`), name).toBe(limit !== undefined)
  }
  expect(hooks).not.toHaveProperty('SessionStart') // Claude Code runs no HTTP hooks for this event
})

test('saveLastSeen stores times, and loadLastSeen ignores invalid values', () => {
  saveLastSeen({ codex: 5 })
  expect(loadLastSeen()).toEqual({ codex: 5 })
  localStorage.setItem('hookback.setup.heard', '{"codex": "soon", "kiro": 1}')
  expect(loadLastSeen()).toEqual({ kiro: 1 })
  localStorage.setItem('hookback.setup.heard', 'null')
  expect(loadLastSeen()).toEqual({})
})

test('newestByApp returns the newest event of each app', () => {
  const newest = [
    anEvent(4, { source_app: 'other' }),
    anEvent(3, { source_app: 'from-curl' }),
    anEvent(2, { source_app: 'from-go' }),
    anEvent(1, { source_app: 'from-curl' }),
  ]
  const found = newestByApp(newest, new Set(['from-curl', 'from-go', 'from-ask']))
  expect([...found].map(([app, event]) => [app, event.id])).toEqual([
    ['from-curl', 3],
    ['from-go', 2],
  ])
})

test('newestUserQuestion ignores test requests', () => {
  const ask = (id: number, source_app: string) => ({ ...aRequest(id), source_app })
  expect(
    newestUserQuestion([anEvent(4), ask(3, 'hookback-test'), ask(2, 'deploy'), ask(1, 'from-ask')])?.id,
  ).toBe(2)
  expect(newestUserQuestion([ask(3, 'hookback-test'), anEvent(2)])).toBeUndefined()
})

test('every http hook sends how Claude Code was started', () => {
  const { hooks } = JSON.parse(httpHookSettings('http://127.0.0.1:4000')) as {
    hooks: Record<string, { hooks: { headers: object; allowedEnvVars: string[] }[] }[]>
  }
  for (const [group] of Object.values(hooks))
    expect(group?.hooks[0]).toMatchObject({
      headers: { 'X-Claude-Entrypoint': '$CLAUDE_CODE_ENTRYPOINT' },
      allowedEnvVars: ['CLAUDE_CODE_ENTRYPOINT'],
    })
})

test('an event that the hook did not know is recognized', () => {
  expect(hasUnknownEvent(anEvent(1))).toBe(false)
  expect(hasUnknownEvent({ ...anEvent(1), ...{ hook: { unknownEvent: true } } })).toBe(true)
})
