import { expect, test } from 'vitest'
import { anAsk, anEvent } from '../testing/build'
import { arrivals, ownQuestion, stepsFor } from './steps'
import { codingAgents } from '../codingAgents'
import { heardBefore, httpSettings, keepHeard, telemetry, wirings } from './wiring'

const all = (hub: string) => stepsFor(hub).flatMap((step) => step.commands.map((command) => command.text))

test('every command names this hub, and needs no name for the usual one', () => {
  const hub = 'http://127.0.0.1:5123'
  const commands = [...all(hub).slice(1), httpSettings(hub), telemetry(hub)]
  for (const text of commands) expect(text).toContain(hub)
  for (const { command } of wirings(hub)) expect(command).toMatch(/ --hub 127\.0\.0\.1:5123$/)
  expect(all('http://127.0.0.1:4000')[1]).toMatch(/^hookback ask /)
  expect(wirings('http://localhost:4000')[0]?.command).toBe('hookback install --agent claude')
  expect(wirings('http://10.0.0.7:81')[1]?.command).toBe('hookback install --agent codex --hub 10.0.0.7:81')
  expect(wirings('https://h.example')[1]?.command).toBe(
    'hookback install --agent codex --hub https://h.example',
  )
})

test('each step looks for a name of its own, and its command sends that', () => {
  const steps = stepsFor('http://127.0.0.1:4000')
  expect(new Set(steps.map((step) => step.app)).size).toBe(steps.length)
  for (const step of steps) expect(step.commands.at(-1)?.text).toContain(step.app)
})

test('every coding agent that can be heard has its line', () => {
  expect(wirings('').map((w) => w.agent)).toEqual(codingAgents())
})

test('the settings of the hooks are JSON, and wait where they ask', () => {
  const { hooks } = JSON.parse(httpSettings('http://x:1')) as {
    hooks: Record<string, { hooks: { url: string; timeout?: number }[] }[]>
  }
  for (const [name, [group]] of Object.entries(hooks)) {
    const limit = { PermissionRequest: 3600, Elicitation: 120 }[name]
    expect(group?.hooks[0]?.timeout, name).toBe(limit)
    expect(group?.hooks[0]?.url.endsWith(`?limit=${limit}`), name).toBe(limit !== undefined)
  }
  expect(hooks).not.toHaveProperty('SessionStart') // it runs no http hooks there
})

test('what was heard is kept, and nothing else', () => {
  keepHeard({ codex: 5 })
  expect(heardBefore()).toEqual({ codex: 5 })
  localStorage.setItem('hookback.setup.heard', '{"codex": "soon", "kiro": 1}')
  expect(heardBefore()).toEqual({ kiro: 1 })
  localStorage.setItem('hookback.setup.heard', 'null')
  expect(heardBefore()).toEqual({})
})

test('the newest event of each is what arrived', () => {
  const newest = [
    anEvent(4, { source_app: 'other' }),
    anEvent(3, { source_app: 'from-curl' }),
    anEvent(2, { source_app: 'from-go' }),
    anEvent(1, { source_app: 'from-curl' }),
  ]
  const found = arrivals(newest, new Set(['from-curl', 'from-go', 'from-ask']))
  expect([...found].map(([app, event]) => [app, event.id])).toEqual([
    ['from-curl', 3],
    ['from-go', 2],
  ])
})

test('any question counts as one of the person’s own, but this page’s', () => {
  const ask = (id: number, source_app: string) => ({ ...anAsk(id), source_app })
  expect(ownQuestion([anEvent(4), ask(3, 'demo'), ask(2, 'deploy'), ask(1, 'from-ask')])?.id).toBe(2)
  expect(ownQuestion([ask(3, 'demo'), anEvent(2)])).toBeUndefined()
})
