import { expect, test } from 'vitest'
import { anEvent } from '../testing/build'
import { arrivals, HOOKS, stepsFor } from './steps'

const all = (hub: string) => stepsFor(hub).flatMap((step) => step.commands.map((command) => command.text))

test('every command names this hub, and needs no name for the usual one', () => {
  const hub = 'http://127.0.0.1:5123'
  for (const text of all(hub).filter((text) => !text.startsWith('{'))) expect(text).toContain(hub)
  expect(all('http://127.0.0.1:4000')[0]).toMatch(/^go run /)
})

test('each step looks for a name of its own, and its command sends that', () => {
  const steps = stepsFor('http://127.0.0.1:4000')
  expect(new Set(steps.map((step) => step.app)).size).toBe(steps.length)
  for (const step of steps) expect(step.commands[0]?.text).toContain(step.app)
})

test('the settings of the hook are JSON that names every hook', () => {
  const text = all('http://127.0.0.1:4000').find((text) => text.startsWith('{')) ?? ''
  const { hooks } = JSON.parse(text) as { hooks: Record<string, unknown> }
  expect(Object.keys(hooks)).toEqual(HOOKS)
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
