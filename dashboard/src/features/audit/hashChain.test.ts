import { beforeEach, describe, expect, it } from 'vitest'
import type { LedgerEntry } from '../../lib/api/schema'
import { actionLabel, findBreak, detectRewrite, actionDetail, saveLastSeen, loadLastSeen } from './hashChain'

const entry = (n: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  n,
  at: n,
  act: 'question.ended',
  who: 'ann',
  prev: `h${n - 1}`,
  hash: `h${n}`,
  ...more,
})

describe('LastSeenEntry', () => {
  beforeEach(() => localStorage.clear())
  it('is stored for each hub', () => {
    expect(loadLastSeen('a')).toBeUndefined()
    saveLastSeen({ hub: 'a', n: 3, hash: 'h3', at: 1 })
    saveLastSeen({ hub: 'b', n: 9, hash: 'x', at: 2 })
    expect(loadLastSeen('a')).toEqual({ hub: 'a', n: 3, hash: 'h3', at: 1 })
    expect(loadLastSeen('__proto__')).toBeUndefined()
  })
  it('is undefined if the stored value is invalid', () => {
    localStorage.setItem('hookback.ledger', '{"a": {"n": "3"}}')
    expect(loadLastSeen('a')).toBeUndefined()
    localStorage.setItem('hookback.ledger', 'no')
    expect(loadLastSeen('a')).toBeUndefined()
  })

  const seen = { hub: 'a', n: 3, hash: 'h3', at: 1 }
  it.each([
    ['the log grew', entry(3), entry(7), undefined],
    ['the log is unchanged', entry(3), entry(3), undefined],
    ['the end was cut off', undefined, entry(2), /ends with entry 2.*cut off/],
    ['all entries are gone', undefined, undefined, /is empty.*cut off/],
    ['the entry was changed', entry(3, { hash: 'other' }), entry(7), /hash of entry 3 is different/],
    ['the entry is missing', undefined, entry(7), /Entry 3 is missing/],
    ['the next entry took its place', entry(4), entry(7), /Entry 3 is missing/],
  ])('detectRewrite: %s', (_, found, newest, why) => {
    if (why) expect(detectRewrite(seen, found, newest)).toMatch(why)
    else expect(detectRewrite(seen, found, newest)).toBeUndefined()
  })
})

it('findBreak returns the first entry that does not continue the chain', () => {
  expect(findBreak([])).toBeUndefined()
  expect(findBreak([entry(5), entry(6), entry(7)])).toBeUndefined()
  expect(findBreak([entry(5), entry(6, { prev: 'other' }), entry(7)])).toBe(6)
  expect(findBreak([entry(5), entry(7, { prev: 'h5' })])).toBe(7)
})

it.each<[Partial<LedgerEntry>, string, string]>([
  [{ data: { outcome: 'approve', reason: 'fine' } }, 'closed', 'approved · fine'],
  [{ data: { outcome: 'approve', test: true } }, 'closed', 'test request · approved'],
  [
    {
      data: {
        outcome: 'deny',
        by: { name: 'ada', process: { pid: 7, exe: '/bin/sh', ancestors: ['agent (3)'] } },
      },
    },
    'closed',
    'denied · /bin/sh (7) ← agent (3)',
  ],
  [{ data: { outcome: 'deny', by: 'ada' } }, 'closed', 'denied'],
  [{ data: { outcome: '__timeout__' } }, 'closed', 'no answer'],
  [{ data: { outcome: '__cancelled__', source: 'cancel' } }, 'closed', 'canceled'],
  [{ data: { outcome: '__cancelled__', source: 'dismissed' } }, 'closed', 'dismissed in the agent'],
  [{ data: { outcome: '__cancelled__', source: 'session_end' } }, 'closed', 'the session ended'],
  [{ act: 'rule.made', data: { id: 1, text: 'Allow Bash.' } }, 'created a rule', 'Allow Bash.'],
  [{ act: 'channel.removed', data: { name: 'ops' } }, 'removed channel', 'ops'],
  [{ act: 'hub.locked' }, 'locked the hub', ''],
  [{ act: 'new.kind_of_act' }, 'kind of act', ''],
])('labels %j', (more, act, detail) => {
  expect(actionLabel(entry(1, more))).toBe(act)
  expect(actionDetail(entry(1, more))).toBe(detail)
})
