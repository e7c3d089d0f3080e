import { describe, expect, test } from 'vitest'
import type { Coverage } from '../api/schema'
import { byUrgency, coverageTone } from './coverage'

const row = (agent: string, state: Coverage['state']): Coverage => ({
  host: 'laptop',
  account: 'ada',
  agent,
  state,
})

describe('byUrgency', () => {
  test('puts agents that run no gate first and keeps the order of equal states', () => {
    const rows = [
      row('a', 'proven'),
      row('b', 'changed'),
      row('c', 'off'),
      row('d', 'proven'),
      row('e', 'not loaded'),
    ]
    expect(byUrgency(rows).map((r) => r.agent)).toEqual(['c', 'e', 'b', 'a', 'd'])
    expect(rows[0]?.agent).toBe('a')
  })
})

describe('coverageTone', () => {
  test('is red for agents that run no gate and green for proven ones only', () => {
    expect(
      (['off', 'not loaded', 'not proven', 'changed', 'observe only', 'proven'] as const).map(coverageTone),
    ).toEqual(['no', 'no', 'wait', 'wait', 'wait', 'ok'])
  })
})
