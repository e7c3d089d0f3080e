import { encode } from '../../lib/format/uri'
import { kindText } from './notificationText'

/** An input of the form that adds a channel. */
export interface Field {
  id: string
  label: string
  hint: string
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
  label: kindText.webhookUrl,
  hint: kindText.webhookHint,
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
      {
        id: 'bot',
        label: kindText.slackButtons.bot,
        hint: kindText.slackButtons.botHint,
        placeholder: 'xoxb-…',
        secret: true,
      },
      {
        id: 'app',
        label: kindText.slackButtons.app,
        hint: kindText.slackButtons.appHint,
        placeholder: 'xapp-…',
        secret: true,
      },
      {
        id: 'channels',
        label: kindText.slackButtons.channels,
        hint: kindText.slackButtons.channelsHint,
        placeholder: 'C0123456789',
      },
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
      {
        id: 'token',
        label: kindText.telegram.token,
        hint: kindText.telegram.tokenHint,
        placeholder: '110201543:AAH…',
        secret: true,
      },
      {
        id: 'chats',
        label: kindText.telegram.chats,
        hint: kindText.telegram.chatsHint,
        placeholder: '@team, 123456',
      },
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
      { id: 'host', label: kindText.server, hint: kindText.ntfy.hostHint, placeholder: 'ntfy.sh' },
      {
        id: 'topic',
        label: kindText.ntfy.topic,
        hint: kindText.ntfy.topicHint,
        placeholder: 'hookback-a8f3k2',
        secret: true,
      },
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
      {
        id: 'host',
        label: kindText.server,
        hint: kindText.gotify.hostHint,
        placeholder: 'gotify.example.com',
      },
      { id: 'token', label: kindText.gotify.token, hint: '', secret: true },
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
      { id: 'user', label: kindText.pushover.user, hint: '', secret: true },
      { id: 'token', label: kindText.pushover.token, hint: '', secret: true },
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
      {
        id: 'host',
        label: kindText.server,
        hint: kindText.smtp.hostHint,
        placeholder: 'mail.example.com:587',
      },
      { id: 'user', label: kindText.smtp.user, hint: kindText.smtp.userHint, optional: true },
      {
        id: 'password',
        label: kindText.smtp.password,
        hint: kindText.smtp.passwordHint,
        secret: true,
        optional: true,
      },
      {
        id: 'from',
        label: kindText.smtp.from,
        hint: kindText.smtp.fromHint,
        placeholder: 'hookback@example.com',
      },
      {
        id: 'to',
        label: kindText.smtp.to,
        hint: kindText.smtp.toHint,
        optional: true,
      },
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
    fields: [
      {
        id: 'url',
        label: kindText.webhook.url,
        hint: kindText.webhook.urlHint,
        placeholder: 'https://example.com/hooks/hookback',
      },
    ],
    url: (f) => (/^https?:\/\/[^\s/]+/.test(f.url ?? '') ? f.url : undefined),
  },
]

export const channelKindName = (id: string): string =>
  id === 'push' ? kindText.push.name : (channelKinds.find((kind) => kind.id === id)?.name ?? id)
