import { describe, expect, it } from 'vitest'
import { groupRequests, toRequest, isWaiting, type Request } from './requests'
import { aRequest } from '../../testing/factories'
import type { HumanInTheLoop, Status } from '../api/types'

const asked = (id: number, status: Partial<Status> = {}, question: Partial<HumanInTheLoop> = {}) =>
  toRequest(aRequest(id, question, status)) as Request
const ids = (list: Request[]) => list.map((r) => r.id)
const sorted = (...all: Request[]) => groupRequests(all, 0, new Map())

describe('Duplicate group', () => {
  const first = asked(1, { waiters: 3 })
  const others = [asked(3, { sameAs: 1 }), asked(2, { sameAs: 1 })]

  it('is one row that lists its duplicates', () => {
    const all = sorted(first, ...others, asked(4))
    expect(ids(all.needs)).toEqual([1, 4])
    expect(ids(all.duplicates.get(1) ?? [])).toEqual([2, 3])
  })
  it('stays one row while the leader’s answer is sent or in its undo window', () => {
    expect(ids(sorted({ ...first, submission: { since: 1 } }, ...others).needs)).toEqual([])
    const held = asked(1, { held: { until: 9, outcome: 'approve' } })
    expect(ids(sorted(held, ...others).needs)).toEqual([])
  })
  it('has a row for each request if the leader is missing', () => {
    expect(ids(sorted(...others).needs)).toEqual([2, 3])
    expect(ids(sorted(asked(1, { status: 'responded' }), ...others).needs)).toEqual([2, 3])
  })
})

describe('isWaiting', () => {
  it.each<[string, Request, boolean]>([
    ['for an answer', asked(1), true],
    ['not when it only tells', asked(1, {}, { requiresResponse: false }), false],
    ['not when the agent is gone', asked(1, { waiter: 'lost' }), false],
    ['for one that the hub knows nothing of', asked(1, { waiter: 'unknown' }), true],
  ])('%s', (_, request, is) => expect(isWaiting(request)).toBe(is))
})
