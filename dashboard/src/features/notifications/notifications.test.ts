import { expect, it } from 'vitest'
import type { Notification } from '../../lib/api/schema'
import { channelKinds } from './channelKinds'
import { stateLabel, summaryText, recipientLabel } from '../inbox/labels'

const urlOf = (kind: string, fields: Record<string, string>) =>
  channelKinds.find(({ id }) => id === kind)?.url(fields)

it.each<[string, Record<string, string>, string | undefined]>([
  ['slack', { url: 'https://hooks.slack.com/services/T01/B02/xyz' }, 'slack://hook:T01-B02-xyz@webhook'],
  ['slack', { url: 'https://example.com/services/T01/B02/xyz' }, undefined],
  ['discord', { url: 'https://discord.com/api/webhooks/12/a-b_c' }, 'discord://a-b_c@12'],
  ['telegram', { token: '11:AA-b', chats: '@team, 5' }, 'telegram://11:AA-b@telegram?chats=%40team,5'],
  ['telegram', { token: '11:AA-b', chats: ' ' }, undefined],
  ['ntfy', { host: 'https://ntfy.sh/', topic: 'a-1' }, 'ntfy://ntfy.sh/a-1'],
  ['ntfy', { host: 'ntfy.sh', topic: 'a/../b' }, undefined],
  ['gotify', { host: 'push.example.com:8443', token: 'A.b' }, 'gotify://push.example.com:8443/A.b'],
  ['pushover', { user: 'u1', token: 't1' }, 'pushover://shoutrrr:t1@u1/'],
  ['mattermost', { url: 'https://chat.example.com/hooks/abc' }, 'mattermost://chat.example.com/abc'],
  ['smtp', { host: 'mail.example.com:587', from: 'a@b.c' }, 'smtp://mail.example.com:587/?from=a%40b.c'],
  [
    'smtp',
    { host: 'mail.example.com:465', user: 'a@b', password: 'p/w', from: 'a@b.c', to: 'd@e.f' },
    'smtps://a%40b:p%2Fw@mail.example.com:465/?from=a%40b.c&to=d%40e.f',
  ],
  ['smtp', { host: 'mail.example.com', from: 'nobody' }, undefined],
  ['webhook', { url: 'https://example.com/x?y=1' }, 'https://example.com/x?y=1'],
  ['webhook', { url: 'ftp://example.com' }, undefined],
])('channel URL of %s with %j', (kind, fields, address) => expect(urlOf(kind, fields)).toBe(address))

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
