import { beforeEach, describe, expect, it } from 'vitest'
import type { LedgerEntry } from '../schema'
import { actOf, broken, changed, detailOf, keepSeen, seenOf } from './chain'

const entry = (n: number, more: Partial<LedgerEntry> = {}): LedgerEntry => ({
  n,
  at: n,
  act: 'question.ended',
  who: 'ann',
  prev: `h${n - 1}`,
  hash: `h${n}`,
  ...more,
})

describe('what the browser saw', () => {
  beforeEach(() => localStorage.clear())
  it('is kept for each hub', () => {
    expect(seenOf('a')).toBeUndefined()
    keepSeen({ hub: 'a', n: 3, hash: 'h3', at: 1 })
    keepSeen({ hub: 'b', n: 9, hash: 'x', at: 2 })
    expect(seenOf('a')).toEqual({ hub: 'a', n: 3, hash: 'h3', at: 1 })
    expect(seenOf('__proto__')).toBeUndefined()
  })
  it('is nothing when it is unsound', () => {
    localStorage.setItem('hookback.ledger', '{"a": {"n": "3"}}')
    expect(seenOf('a')).toBeUndefined()
    localStorage.setItem('hookback.ledger', 'no')
    expect(seenOf('a')).toBeUndefined()
  })

  const seen = { hub: 'a', n: 3, hash: 'h3', at: 1 }
  it.each([
    ['it grew', entry(3), entry(7), undefined],
    ['it is as it was', entry(3), entry(3), undefined],
    ['its end was cut off', undefined, entry(2), /ends with entry 2.*cut off/],
    ['all of it is gone', undefined, undefined, /ends with none/],
    ['the entry is another', entry(3, { hash: 'other' }), entry(7), /another hash/],
    ['the entry is missing', undefined, entry(7), /not there any more/],
    ['the next one came in its place', entry(4), entry(7), /not there any more/],
  ])('%s', (_, found, newest, why) => {
    if (why) expect(changed(seen, found, newest)).toMatch(why)
    else expect(changed(seen, found, newest)).toBeUndefined()
  })
})

it('a page of entries is one chain, or says where it breaks', () => {
  expect(broken([])).toBeUndefined()
  expect(broken([entry(5), entry(6), entry(7)])).toBeUndefined()
  expect(broken([entry(5), entry(6, { prev: 'other' }), entry(7)])).toBe(6)
  expect(broken([entry(5), entry(7, { prev: 'h5' })])).toBe(7)
})

it.each<[Partial<LedgerEntry>, string, string]>([
  [{ data: { outcome: 'approve', reason: 'fine' } }, 'ended', 'approved · fine'],
  [{ data: { outcome: '__timeout__' } }, 'ended', 'no answer'],
  [{ act: 'rule.made', data: { id: 1, text: 'Allow Bash.' } }, 'made a rule', 'Allow Bash.'],
  [{ act: 'channel.removed', data: { name: 'ops' } }, 'removed the channel', 'ops'],
  [{ act: 'hub.locked' }, 'locked the hub', ''],
  [{ act: 'new.kind_of_act' }, 'kind of act', ''],
])('%j in words', (more, act, detail) => {
  expect(actOf(entry(1, more))).toBe(act)
  expect(detailOf(entry(1, more))).toBe(detail)
})
