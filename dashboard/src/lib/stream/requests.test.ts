import { describe, expect, it, test } from 'vitest'
import fc from 'fast-check'
import {
  groupRequests,
  needsYou,
  questionBelowTitle,
  requestTitle,
  toRequest,
  type Request,
} from './requests'
import { aRequest } from '../../testing/factories'
import cases from '../../testing/needs-you-cases.json'
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

describe('Rejected answer', () => {
  const problem = { type: '', title: 'No', status: 0, code: 'unreachable', error: '' }
  const next = (before: Request, status: Partial<Status>) =>
    toRequest(aRequest(1, {}, status), before) as Request

  it('is forgotten once another answer was accepted, also if that one is undone', () => {
    const rejected = { ...asked(1), problem }
    expect(next(rejected, { revision: 2 }).problem).toBe(problem)
    const held = next(rejected, { revision: 3, held: { until: 9, outcome: 'approve' } })
    expect(held.problem).toBeUndefined()
    expect(next(held, { revision: 4 }).problem).toBeUndefined()
    expect(next(rejected, { revision: 3, status: 'responded' }).problem).toBeUndefined()
  })
})

describe('needsYou', () => {
  const count = (...all: Request[]) => needsYou(all, 'ada', new Map(), 0)

  it.each<[string, Request, number]>([
    ['for an answer', asked(1), 1],
    ['not when it only tells', asked(1, {}, { requiresResponse: false }), 0],
    ['not when the agent is gone', asked(1, { waiter: 'lost' }), 0],
    ['for one that the hub knows nothing of', asked(1, { waiter: 'unknown' }), 1],
    ['not for a test', asked(1, { test: true }), 0],
    ['not for others', asked(1, { recipients: ['grace'] }), 0],
  ])('counts %s', (_, request, n) => expect(count(request)).toBe(n))

  it('counts equal calls once, while one of their agents waits', () => {
    const lost = { waiter: 'lost' } as const
    expect(count(asked(1, { waiters: 2, ...lost }), asked(2, { sameAs: 1 }))).toBe(1)
    expect(count(asked(1, { waiters: 2, ...lost }), asked(2, { sameAs: 1, ...lost }))).toBe(0)
  })

  it.each(cases.map((c, i) => [i, c] as const))(
    'counts as the hub does in state %i',
    (_, { requests, needsYou }) => {
      const all = requests.map(({ id, status, question }) =>
        asked(id, status as Partial<Status>, question as Partial<HumanInTheLoop>),
      )
      expect(count(...all)).toBe(needsYou)
    },
  )

  it('agrees with its definition in every state', () => {
    const status = fc.record(
      {
        status: fc.constantFrom('pending', 'responded', 'timeout', 'error'),
        waiter: fc.constantFrom('listening', 'lost', 'unknown'),
        recipients: fc.subarray(['ada', 'grace'], { minLength: 1 }),
        votes: fc.constantFrom([{ user: 'ada', at: 1, choice: 'approve' }], []),
        held: fc.constant({ until: 9, outcome: 'approve' }),
        expiresAt: fc.integer({ min: 1, max: 300_000 }),
        test: fc.boolean(),
      },
      { requiredKeys: ['status'] },
    )
    const one = fc.record({ status, tells: fc.boolean(), snoozed: fc.integer({ min: 0, max: 200_000 }) })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 12 }), (states) => {
        const now = 50_000
        const all = states.map((s, i) =>
          asked(i + 1, s.status as Partial<Status>, s.tells ? { requiresResponse: false } : {}),
        )
        const snoozed = new Map(states.map((s, i) => [i + 1, s.snoozed]))
        const expected = states.filter(({ status: s, tells, snoozed }) => {
          const mine = !s.recipients || (s.recipients.includes('ada') && !s.votes?.length)
          const sleeps = Math.min(snoozed, (s.expiresAt ?? Infinity) - 60_000) > now
          const open = s.status === 'pending' && !s.held
          return open && mine && !sleeps && !tells && s.waiter !== 'lost' && !s.test
        })
        expect(needsYou(all, 'ada', snoozed, now)).toBe(expected.length)
      }),
    )
  })
})

test('requestTitle is the intent of the hub, or else the first line', () => {
  expect(requestTitle(asked(1, {}, { question: ' Deploy?\nNow' }))).toBe('Deploy?')
  const intent = { verb: 'Edit', object: 'list.go', change: '+4 −3' }
  expect(requestTitle(asked(1, { intent }))).toBe('Edit list.go +4 −3')
})

test('questionBelowTitle is what the agent asks beyond the title and the plan', () => {
  const intent = { verb: 'Run', object: 'make all' }
  const below = (question: string, status = {}, plan?: string) =>
    questionBelowTitle(asked(1, status, { question }), plan)
  expect(below('Deploy?\nNow\n')).toBe('Now')
  expect(below('Run make all?', { intent })).toBe('')
  expect(below('Is it safe to run make all?', { intent })).toBe('Is it safe to run make all?')
  expect(below('Run make all?\n\nIt is safe.', { intent })).toBe('It is safe.')
  expect(below('Start?\n\n1. Move…', { intent }, '1. Move it\n2. Test')).toBe('Start?')
})
