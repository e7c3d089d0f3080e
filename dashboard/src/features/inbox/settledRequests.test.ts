import { expect, it } from 'vitest'
import type { HitlRequest } from '../../lib/api/schema'
import { isDecidable, hasDeliveryFailure } from '../../lib/stream/requests'
import { settledRequest } from './settledRequests'
import { requestOutcome, resolutionReason } from '../../lib/format/outcome'

const of = (more: Partial<HitlRequest>): HitlRequest => ({
  request_id: 5,
  status: 'decided',
  type: 'permission',
  prompt: 'May I?',
  choices: ['approve', 'deny'],
  agent: 'api',
  session_id: 's1',
  created_at: 1000,
  decided_at: 2000,
  revision: 3,
  required_approvals: 1,
  awaiting: [],
  votes: [],
  waiting_on_me: false,
  ...more,
})

it.each<[string, Partial<HitlRequest>, string, string]>([
  ['an approval', { outcome: 'approve', source: 'human' }, 'Approved', ''],
  ['a denial', { outcome: 'deny', reason: 'Not today' }, 'Denied', 'Not today'],
  ['a choice', { type: 'choice', outcome: 'Vitest' }, 'Vitest', ''],
  ['a text', { type: 'question', outcome: 'answered', response: 'x' }, 'Answered', ''],
  ['no agreement', { outcome: '__no_quorum__' }, 'No majority', ''],
  ['an end in time', { status: 'expired', outcome: '__timeout__', source: 'timeout' }, 'No answer', ''],
  [
    'a cancellation',
    { status: 'cancelled', outcome: '__cancelled__', source: 'cancel', cancellation_reason: 'Asked twice' },
    'Canceled',
    'Asked twice',
  ],
  ['a withdrawal', { status: 'cancelled', outcome: '__withdrawn__' }, 'Withdrawn by the agent', ''],
])('%s has the same row as a request the page received', (_, more, word, why) => {
  const request = settledRequest(of(more))
  expect(requestOutcome(request).label).toBe(word)
  expect(resolutionReason(request)).toBe(why)
  expect(isDecidable(request)).toBe(false)
  expect(request).toMatchObject({ id: 5, askedAt: 1000, event: { source_app: 'api', session_id: 's1' } })
})

it('includes an undelivered answer', () => {
  expect(hasDeliveryFailure(settledRequest(of({ outcome: 'approve', delivery: 'unreachable' })))).toBe(true)
  expect(hasDeliveryFailure(settledRequest(of({ outcome: 'approve', delivery: 'acked' })))).toBe(false)
})
