import { expect, test } from 'vitest'
import type { AlertRule } from '../../lib/api/schema'
import { kindDefaults, ruleSentence } from './alertRules'

test.each([
  ['stuck', 'An agent in the middle of a turn reports nothing for 15 min. Only api.'],
  ['errors', '50 % of the last 20 calls of a session failed. Only api.'],
  ['loop', 'A session repeats the same failure 5 times or the same call 8 times. Only api.'],
  ['spend', 'More than $10 for all agents in 24 hours. Only api.'],
] as const)('a rule of kind %s is a sentence', (kind, sentence) => {
  const rule: AlertRule = { id: 1, kind, source_app: 'api', ...kindDefaults[kind] }
  expect(ruleSentence(rule)).toBe(sentence)
})

test('an unusual window is in minutes', () => {
  expect(ruleSentence({ id: 1, kind: 'spend', usd: 2.5, minutes: 90, per: 'person' })).toBe(
    'More than $2.5 for each person in 90 min.',
  )
})
