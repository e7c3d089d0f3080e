import { expect, it } from 'vitest'
import { channelKinds } from './channelKinds'

const urlOf = (kind: string, fields: Record<string, string>) =>
  channelKinds.find(({ id }) => id === kind)?.url(fields)

it.each<[string, Record<string, string>, string | undefined]>([
  ['slack', { url: 'https://hooks.slack.com/services/T01/B02/xyz' }, 'slack://hook:T01-B02-xyz@webhook'],
  ['slack', { url: 'https://example.com/services/T01/B02/xyz' }, undefined],
  [
    'slackButtons',
    { bot: 'xoxb-1234567890', app: 'xapp-1-A1-234567', channels: 'C1A, C2B' },
    'slack://xoxb-1234567890:xapp-1-A1-234567@slack?channels=C1A,C2B',
  ],
  ['slackButtons', { bot: 'xoxb-1234567890', app: 'xapp-1-A1-234567', channels: '#general' }, undefined],
  ['slackButtons', { bot: 'xapp-1234567890', app: 'xapp-1-A1-234567', channels: 'C1A' }, undefined],
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
