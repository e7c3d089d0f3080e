/** A field of the form for a channel of one kind. */
export interface Field {
  id: string
  label: string
  hint: string
  placeholder?: string
  secret?: boolean
  /** May stay empty. */
  optional?: boolean
}

/** A way by which people can be told. */
export interface ChannelKind {
  id: string
  name: string
  /** Where one gets what the form asks for. */
  instructions: string
  fields: Field[]
  /** The hub's address of it; undefined while a field can't be right. */
  address: (f: Record<string, string>) => string | undefined
}

const part = encodeURIComponent
const host = (text: string | undefined) => /^(?:https?:\/\/)?([\w.-]+(?::\d+)?)\/?$/.exec(text ?? '')?.[1]

const hook = (at: RegExp, make: (...parts: string[]) => string) => (f: Record<string, string>) => {
  const [, ...parts] = at.exec(f.url ?? '') ?? []
  return parts.length > 0 ? make(...parts) : undefined
}

const webhookField = (where: string, placeholder: string): Field => ({
  id: 'url',
  label: 'Webhook URL',
  hint: where,
  placeholder,
  secret: true,
})

export const channelKinds: readonly ChannelKind[] = [
  {
    id: 'slack',
    name: 'Slack',
    instructions: 'In Slack: Apps, “Incoming WebHooks”, add one to a channel, copy its URL.',
    fields: [webhookField('It is as good as a password.', 'https://hooks.slack.com/services/T…/B…/…')],
    address: hook(
      /^https:\/\/hooks\.slack\.com\/services\/(\w+)\/(\w+)\/(\w+)\/?$/,
      (t, b, x) => `slack://hook:${t}-${b}-${x}@webhook`,
    ),
  },
  {
    id: 'discord',
    name: 'Discord',
    instructions: 'In Discord: the channel’s settings, Integrations, Webhooks, “Copy webhook URL”.',
    fields: [webhookField('It is as good as a password.', 'https://discord.com/api/webhooks/…/…')],
    address: hook(
      /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks\/(\d+)\/([\w-]+)\/?$/,
      (id, token) => `discord://${token}@${id}`,
    ),
  },
  {
    id: 'telegram',
    name: 'Telegram',
    instructions: 'Make a bot with @BotFather and write to it once, or add it to a group.',
    fields: [
      {
        id: 'token',
        label: 'Token of the bot',
        hint: 'As @BotFather gave it.',
        placeholder: '110201543:AAH…',
        secret: true,
      },
      {
        id: 'chats',
        label: 'Chats',
        hint: 'Numbers or @names, with commas between them.',
        placeholder: '@team, 123456',
      },
    ],
    address: (f) => {
      const chats = (f.chats ?? '').split(/[\s,]+/).filter(Boolean)
      if (!/^\d+:[\w-]+$/.test(f.token ?? '') || chats.length === 0) return undefined
      return `telegram://${f.token}@telegram?chats=${chats.map(part).join(',')}`
    },
  },
  {
    id: 'ntfy',
    name: 'ntfy',
    instructions:
      'Subscribe to a topic of your own in the ntfy app. Whoever knows its name can read it: make it long.',
    fields: [
      { id: 'host', label: 'Server', hint: 'ntfy.sh, or your own.', placeholder: 'ntfy.sh' },
      {
        id: 'topic',
        label: 'Topic',
        hint: 'Letters, digits, - and _.',
        placeholder: 'hookback-a8f3k2',
        secret: true,
      },
    ],
    address: (f) => {
      const server = host(f.host)
      return server && /^[\w-]{1,64}$/.test(f.topic ?? '') ? `ntfy://${server}/${f.topic}` : undefined
    },
  },
  {
    id: 'gotify',
    name: 'Gotify',
    instructions: 'In Gotify: Apps, create an application, copy its token.',
    fields: [
      {
        id: 'host',
        label: 'Server',
        hint: 'With its port, if it has one.',
        placeholder: 'gotify.example.com',
      },
      { id: 'token', label: 'Token of the application', hint: '', secret: true },
    ],
    address: (f) => {
      const server = host(f.host)
      return server && /^[\w.-]+$/.test(f.token ?? '') ? `gotify://${server}/${f.token}` : undefined
    },
  },
  {
    id: 'pushover',
    name: 'Pushover',
    instructions: 'On pushover.net: your user key, and the token of an application you make there.',
    fields: [
      { id: 'user', label: 'User key', hint: '', secret: true },
      { id: 'token', label: 'API token', hint: '', secret: true },
    ],
    address: (f) =>
      /^\w+$/.test(f.user ?? '') && /^\w+$/.test(f.token ?? '')
        ? `pushover://shoutrrr:${f.token}@${f.user}/`
        : undefined,
  },
  {
    id: 'mattermost',
    name: 'Mattermost',
    instructions: 'In Mattermost: Integrations, “Incoming Webhooks”, copy its URL.',
    fields: [webhookField('It is as good as a password.', 'https://chat.example.com/hooks/…')],
    address: hook(
      /^https:\/\/([\w.-]+(?::\d+)?)\/hooks\/(\w+)\/?$/,
      (at, token) => `mattermost://${at}/${token}`,
    ),
  },
  {
    id: 'smtp',
    name: 'E-mail',
    instructions: 'A mail server that takes mail from this hub. Each person gets it at their own address.',
    fields: [
      {
        id: 'host',
        label: 'Server',
        hint: 'With its port: 587 for STARTTLS, 465 for TLS.',
        placeholder: 'mail.example.com:587',
      },
      { id: 'user', label: 'User', hint: 'If the server wants one.', optional: true },
      {
        id: 'password',
        label: 'Password',
        hint: 'Kept by the hub, never shown again.',
        secret: true,
        optional: true,
      },
      { id: 'from', label: 'From', hint: 'The sender’s address.', placeholder: 'hookback@example.com' },
      {
        id: 'to',
        label: 'To',
        hint: 'Everything to this one address; empty: to each person’s own.',
        optional: true,
      },
    ],
    address: (f) => {
      const server = host(f.host)
      if (!server || !/^\S+@\S+$/.test(f.from ?? '')) return undefined
      const who = f.user ? `${part(f.user)}${f.password ? ':' + part(f.password) : ''}@` : ''
      const query = new URLSearchParams({ from: f.from ?? '', ...(f.to && { to: f.to }) })
      return `${server.endsWith(':465') ? 'smtps' : 'smtp'}://${who}${server}/?${query}`
    },
  },
  {
    id: 'webhook',
    name: 'Webhook',
    instructions:
      'The hub posts JSON there, signed as Standard Webhooks say; the secret is shown once it is made.',
    fields: [
      {
        id: 'url',
        label: 'URL',
        hint: 'https, or http within your own network.',
        placeholder: 'https://example.com/hooks/hookback',
      },
    ],
    address: (f) => (/^https?:\/\/[^\s/]+/.test(f.url ?? '') ? f.url : undefined),
  },
]

export const channelKindName = (id: string): string =>
  id === 'push' ? 'Web Push' : (channelKinds.find((kind) => kind.id === id)?.name ?? id)
