import { describe, expect, it } from 'vitest'
import { activeLimits, windows } from './safety'

describe('activeLimits', () => {
  it.each([
    [{ equalFailures: 0, spendUsd: 0, spendMinutes: 0 }, 'The hub freezes nothing by itself.'],
    [
      { equalFailures: 5, spendUsd: 0, spendMinutes: 0 },
      'A session is frozen after 5 equal failures in a row.',
    ],
    [
      { equalFailures: 2, spendUsd: 10, spendMinutes: 60 },
      'A session is frozen after 2 equal failures in a row, and when it costs more than $10 in one hour.',
    ],
    [
      { equalFailures: 0, spendUsd: 2.5, spendMinutes: 240 },
      'A session is frozen when it costs more than $2.50 in 4 hours.',
    ],
  ])('states %j', (limits, sentence) => expect(activeLimits(limits)).toBe(sentence))
})

describe('windows', () => {
  it('include a stored window that is not in the list', () => {
    expect(windows(90).map((w) => w.label)).toEqual([
      '15 minutes',
      'one hour',
      '90 minutes',
      '4 hours',
      '8 hours',
      '24 hours',
    ])
    expect(windows(0)).toHaveLength(5)
  })
})
