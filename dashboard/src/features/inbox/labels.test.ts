import { expect, it } from 'vitest'
import type { Notification } from '../../lib/api/schema'
import { stateLabel, summaryText, recipientLabel } from './labels'

const notification = (more: Partial<Notification>): Notification => ({
  channel: 'on-call',
  kind: 'asked',
  state: 'sent',
  at: 1,
  ...more,
})

it.each<[Partial<Notification>, string, string]>([
  [{}, 'on-call', 'sent'],
  [{ person: 'ann', kind: 'reminder' }, 'ann via on-call (reminder)', 'sent'],
  [{ state: 'suppressed', why: 'quiet_hours' }, 'on-call', 'skipped, in their quiet hours'],
  [{ state: 'suppressed', why: 'cooldown' }, 'on-call', 'skipped, notified recently'],
  [{ state: 'failed', attempts: 5 }, 'on-call', 'failed after 5 attempts'],
  [{ state: 'queued' }, 'on-call', 'pending'],
  [{ state: 'queued', attempts: 2 }, 'on-call', 'retrying after 2 attempts'],
])('labels %j', (more, to, state) => {
  expect(recipientLabel(notification(more))).toBe(to)
  expect(stateLabel(notification(more))).toBe(state)
})

it('summaryText counts all notifications, also if the hub lists only the newest', () => {
  expect(summaryText({})).toBe('')
  expect(
    summaryText({
      notices: [notification({}), notification({ state: 'failed' }), notification({ state: 'queued' })],
    }),
  ).toBe('1 sent, 1 pending, 1 failed')
  expect(summaryText({ notices: [notification({})], noticeCounts: { sent: 60, suppressed: 2 } })).toBe(
    '60 sent, 2 skipped',
  )
})
