import { encode } from '../../lib/format/uri'
import { kindText } from './notificationText'

/** An input of the form that adds a channel. */
export interface Field {
  id: string
  label: string
  hint?: string
  placeholder?: string
  secret?: boolean
  /** May be left empty. */
  optional?: boolean
}

/** A kind of notification channel. */
export interface ChannelKind {
  id: string
  name: string
  /** Where to get the values that the form asks for. */
  instructions: string
  fields: Field[]
  /** The URL under which the hub stores the channel; undefined while a field is invalid. */
  url: (f: Record<string, string>) => string | undefined
}

/** The host and port of a server name or URL; undefined if it has a path. */
const parseHost = (text: string | undefined) =>
  /^(?:https?:\/\/)?([\w.-]+(?::\d+)?)\/?$/.exec(text ?? '')?.[1]

/** Builds a url function from the parts of a webhook URL. */
const fromWebhook =
  (pattern: RegExp, build: (...parts: string[]) => string) => (f: Record<string, string>) => {
    const [, ...parts] = pattern.exec(f.url ?? '') ?? []
    return parts.length > 0 ? build(...parts) : undefined
  }

const webhookField = (placeholder: string): Field => ({
  id: 'url',
  ...kindText.webhookUrl,
  placeholder,
  secret: true,
})

export const channelKinds: readonly ChannelKind[] = [
  {
    id: 'slack',
    ...kindText.slack,
    fields: [webhookField('https://hooks.slack.com/services/T…/B…/…')],
    url: fromWebhook(
      /^https:\/\/hooks\.slack\.com\/services\/(\w+)\/(\w+)\/(\w+)\/?$/,
      (t, b, x) => `slack://hook:${t}-${b}-${x}@webhook`,
    ),
  },
  {
    id: 'slackButtons',
    ...kindText.slackButtons,
    fields: [
      { id: 'bot', ...kindText.slackButtons.bot, placeholder: 'xoxb-…', secret: true },
      { id: 'app', ...kindText.slackButtons.app, placeholder: 'xapp-…', secret: true },
      { id: 'channels', ...kindText.slackButtons.channels, placeholder: 'C0123456789' },
    ],
    url: (f) => {
      const channels = (f.channels ?? '').split(/[\s,]+/).filter(Boolean)
      const isValid =
        /^xoxb-[\w-]{10,}$/.test(f.bot ?? '') &&
        /^xapp-[\w-]{10,}$/.test(f.app ?? '') &&
        channels.length > 0 &&
        channels.every((id) => /^[A-Z0-9]{3,30}$/.test(id))
      return isValid ? `slack://${f.bot}:${f.app}@slack?channels=${channels.join(',')}` : undefined
    },
  },
  {
    id: 'discord',
    ...kindText.discord,
    fields: [webhookField('https://discord.com/api/webhooks/…/…')],
    url: fromWebhook(
      /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks\/(\d+)\/([\w-]+)\/?$/,
      (id, token) => `discord://${token}@${id}`,
    ),
  },
  {
    id: 'telegram',
    ...kindText.telegram,
    fields: [
      { id: 'token', ...kindText.telegram.token, placeholder: '110201543:AAH…', secret: true },
      { id: 'chats', ...kindText.telegram.chats, placeholder: '@team, 123456' },
    ],
    url: (f) => {
      const chats = (f.chats ?? '').split(/[\s,]+/).filter(Boolean)
      if (!/^\d+:[\w-]+$/.test(f.token ?? '') || chats.length === 0) return undefined
      return `telegram://${f.token}@telegram?chats=${chats.map(encode).join(',')}`
    },
  },
  {
    id: 'ntfy',
    ...kindText.ntfy,
    fields: [
      { id: 'host', ...kindText.ntfy.host, placeholder: 'ntfy.sh' },
      { id: 'topic', ...kindText.ntfy.topic, placeholder: 'hookback-a8f3k2', secret: true },
    ],
    url: (f) => {
      const server = parseHost(f.host)
      return server && /^[\w-]{1,64}$/.test(f.topic ?? '') ? `ntfy://${server}/${f.topic}` : undefined
    },
  },
  {
    id: 'gotify',
    ...kindText.gotify,
    fields: [
      { id: 'host', ...kindText.gotify.host, placeholder: 'gotify.example.com' },
      { id: 'token', ...kindText.gotify.token, secret: true },
    ],
    url: (f) => {
      const server = parseHost(f.host)
      return server && /^[\w.-]+$/.test(f.token ?? '') ? `gotify://${server}/${f.token}` : undefined
    },
  },
  {
    id: 'pushover',
    ...kindText.pushover,
    fields: [
      { id: 'user', ...kindText.pushover.user, secret: true },
      { id: 'token', ...kindText.pushover.token, secret: true },
    ],
    url: (f) =>
      /^\w+$/.test(f.user ?? '') && /^\w+$/.test(f.token ?? '')
        ? `pushover://shoutrrr:${f.token}@${f.user}/`
        : undefined,
  },
  {
    id: 'mattermost',
    ...kindText.mattermost,
    fields: [webhookField('https://chat.example.com/hooks/…')],
    url: fromWebhook(
      /^https:\/\/([\w.-]+(?::\d+)?)\/hooks\/(\w+)\/?$/,
      (at, token) => `mattermost://${at}/${token}`,
    ),
  },
  {
    id: 'smtp',
    ...kindText.smtp,
    fields: [
      { id: 'host', ...kindText.smtp.host, placeholder: 'mail.example.com:587' },
      { id: 'user', ...kindText.smtp.user, optional: true },
      { id: 'password', ...kindText.smtp.password, secret: true, optional: true },
      { id: 'from', ...kindText.smtp.from, placeholder: 'hookback@example.com' },
      { id: 'to', ...kindText.smtp.to, optional: true },
    ],
    url: (f) => {
      const server = parseHost(f.host)
      if (!server || !/^\S+@\S+$/.test(f.from ?? '')) return undefined
      const userInfo = f.user ? `${encode(f.user)}${f.password ? ':' + encode(f.password) : ''}@` : ''
      const query = new URLSearchParams({ from: f.from ?? '', ...(f.to && { to: f.to }) })
      return `${server.endsWith(':465') ? 'smtps' : 'smtp'}://${userInfo}${server}/?${query}`
    },
  },
  {
    id: 'webhook',
    ...kindText.webhook,
    fields: [{ id: 'url', ...kindText.webhook.url, placeholder: 'https://example.com/hooks/hookback' }],
    url: (f) => (/^https?:\/\/[^\s/]+/.test(f.url ?? '') ? f.url : undefined),
  },
]

export const channelKindName = (id: string): string =>
  id === 'push' ? kindText.push.name : (channelKinds.find((kind) => kind.id === id)?.name ?? id)
