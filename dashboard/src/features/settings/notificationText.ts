import type { Channel } from '../../lib/api/schema'

/** User-visible strings of the notification settings. */
export const text = {
  loading: 'Loading …',
  from: 'from',
  to: 'to',
}

/** Strings of the channel list and of the form that adds a channel. */
export const channelText = {
  forPerson: 'for',
  forEveryone: 'for everyone',
  addedBy: 'added by',
  paused: (until: string) => `Sending fails. The hub retries after ${until}.`,
  takesAnswers: (bot: string) => `@${bot} takes answers.`,
  brief: 'without details',
  testing: 'Sending a test …',
  testSent: 'Test sent.',
  testFailed: 'Test failed:',
  noReason: 'no reason given',
  test: 'Test',
  testChannel: ({ name }: Channel) => `Test ${name}`,
  empty:
    'No channels yet. Requests only reach people with this page open. Add a channel to notify others by chat, e-mail, webhook, or Web Push.',
  secretTitle: ({ name }: Channel) => `Secret of “${name}”`,
  copySecret: 'Copy the secret',
  secretHint:
    'The receiver verifies messages of this hub with it (Standard Webhooks). It is not shown again.',
  add: 'Add channel',
  addAction: 'add channels',
  adminOnly: 'Only admins can add channels.',
  form: 'New channel',
  kind: 'Kind',
  name: { label: 'Name', placeholder: 'on-call', hint: 'Shown on requests: “sent to on-call”.' },
  onlyMe: { label: 'Only for me', hint: 'Otherwise it gets the requests of everyone.' },
  withoutDetails: {
    label: 'Without details',
    hint: 'Messages name the agent only, without the request, the call, and buttons.',
  },
  invalid: 'This does not look valid. Compare it with the example in the field.',
  back: 'Back',
}

/** Strings of the filter of a channel. */
export const filterText = {
  change: 'Filter',
  changeOf: ({ name }: Channel) => `Filter of ${name}`,
  form: ({ name }: Channel) => `Requests that ${name} sends`,
  intro:
    'The channel sends requests that match every field with a value. Separate several with commas; * is any text.',
  labels: {
    projects: 'Folders of the project',
    paths: 'Files of the call',
    agents: 'Agents',
    owners: 'Owners of the files',
  },
  examples: {
    projects: 'shop',
    paths: 'payments/*, *.sql',
    agents: 'claude*',
    owners: '@shop/payments, ada',
  },
  risk: 'Risk',
  risks: {
    '': 'Any',
    low: 'Low or more',
    medium: 'Medium or more',
    high: 'High or more',
    critical: 'Critical',
  },
  save: 'Save filter',
  only: 'Only requests ',
  parts: {
    projects: (list: string) => `in ${list}`,
    paths: (list: string) => `about ${list}`,
    agents: (list: string) => `of ${list}`,
    owners: (list: string) => `with the owner ${list}`,
  },
  fromRisk: (risk: string) => `of ${risk} risk${risk === 'critical' ? '' : ' or more'}`,
}

/** Strings of the chat accounts with which a person answers. */
export const chatText = {
  intro:
    'Press a button in Telegram or Slack, or reply in Telegram, to answer as yourself. Requests of high risk always need this page.',
  noBot: 'No bot takes answers yet. An admin adds a channel of kind Telegram, or Slack with buttons.',
  link: 'Link a chat account',
  linkAction: 'link a chat account',
  linked: (label: string) => `${label} is linked.`,
  codeTitle: 'Link your account',
  open: (bot: string) => `Open @${bot} and press Start`,
  send: (bots: string) => `Or send this to ${bots} in a private chat. It works once, for ten minutes.`,
  sendInSlack: (bots: string) =>
    `In Slack, send this to ${bots} in a direct message. It works once, for ten minutes.`,
  copyCode: 'Copy the message',
  check: 'I have sent it',
  notYet: 'No new account yet. Send the message to the bot, then check again.',
}

/** Strings of one person's preferences. */
export const preferenceText = {
  cooldown: 'At most one message per channel every',
  minutes: 'min',
  cooldownHint: 'Empty or 0: no limit. Skipped ones stay in the inbox.',
  quietHours: 'Quiet hours',
  dailyReport: 'Daily report',
  reportAt: 'at',
  reportHint: (zone: string) => `${zone}. What your agents did in the last 24 hours, through your channels.`,
  quietHint: (zone: string) => `${zone}. Critical requests notify you at any hour.`,
  answerByPush: {
    label: 'Show requests and answer buttons in push notifications',
    hint: 'Only for low and medium risk, and only where you are signed in. Anyone who sees your screen can read them.',
  },
  email: { label: 'My e-mail', hint: 'E-mail channels send to this address.' },
  signedInAction: 'have your own preferences and get e-mail',
  save: 'Save',
  saved: 'Saved.',
}

/** Strings of the Web Push settings of this browser. */
export const pushText = {
  intro:
    'Encrypted Web Push: a message to this browser, through its vendor, that a request is waiting. It disappears once the request is settled.',
  insecure: (origin: string) => `Browsers allow this over https and on localhost only, not on ${origin}.`,
  unsupported:
    'This browser does not support Web Push. On an iPhone or iPad, add this page to the home screen and open it from there.',
  blocked: (host: string) =>
    `This browser blocks notifications from ${host}. Allow them in the browser’s settings for this site (the icon next to the address), then come back here.`,
  checkAgain: 'Check again',
  on: 'on',
  enabled: 'Push is enabled in this browser.',
  disable: 'Disable push',
  enable: 'Enable push',
  enableAction: 'enable push in this browser',
}

/** Instructions, labels, and hints for each kind of channel. */
export const kindText = {
  push: { name: 'Web Push' },
  slack: {
    name: 'Slack',
    instructions: 'In Slack, open Apps, add “Incoming WebHooks” to a channel, and copy its URL.',
  },
  slackButtons: {
    name: 'Slack with buttons',
    instructions:
      'At api.slack.com/apps, create an app, turn on Socket Mode, Interactivity, and the event message.im, add the bot scopes chat:write and im:history, and install it. Then add the app to the channels.',
    bot: { label: 'Bot token', hint: 'Under OAuth & Permissions.' },
    app: { label: 'App token', hint: 'With the scope connections:write, under Basic Information.' },
    channels: { label: 'Channels', hint: 'Channel IDs from each channel’s details, separated by commas.' },
  },
  discord: {
    name: 'Discord',
    instructions:
      'In Discord, open the channel’s settings, then Integrations, Webhooks, and “Copy Webhook URL”.',
  },
  telegram: {
    name: 'Telegram',
    instructions: 'Create a bot with @BotFather, then send it a message or add it to a group.',
    token: { label: 'Bot token', hint: 'From @BotFather.' },
    chats: { label: 'Chats', hint: 'Chat numbers or @names, separated by commas.' },
  },
  ntfy: {
    name: 'ntfy',
    instructions:
      'Subscribe to a topic in the ntfy app. Anyone who knows its name can read it, so use a long one.',
    host: { label: 'Server', hint: 'ntfy.sh, or your own server.' },
    topic: { label: 'Topic', hint: 'Letters, digits, - and _.' },
  },
  gotify: {
    name: 'Gotify',
    instructions: 'In Gotify, open Apps, create an application, and copy its token.',
    host: { label: 'Server', hint: 'Include the port, if it has one.' },
    token: { label: 'Application token' },
  },
  pushover: {
    name: 'Pushover',
    instructions: 'On pushover.net, copy your user key and the token of an application that you create.',
    user: { label: 'User key' },
    token: { label: 'API token' },
  },
  mattermost: {
    name: 'Mattermost',
    instructions: 'In Mattermost, open Integrations, then “Incoming Webhooks”, and copy the URL.',
  },
  smtp: {
    name: 'E-mail',
    instructions: 'A mail server that accepts mail from this hub. Everyone gets mail at their own address.',
    host: { label: 'Server', hint: 'Include the port: 587 for STARTTLS, 465 for TLS.' },
    user: { label: 'User', hint: 'If the server requires one.' },
    password: { label: 'Password', hint: 'Stored by the hub, never shown again.' },
    from: { label: 'From', hint: 'The sender’s address.' },
    to: { label: 'To', hint: 'Send everything to this address. Empty: to each person’s own.' },
  },
  webhook: {
    name: 'Webhook',
    instructions:
      'The hub posts JSON to this URL, signed according to Standard Webhooks. The secret is shown once, when you add the channel.',
    url: { label: 'URL', hint: 'https, or http within your own network.' },
  },
  webhookUrl: { label: 'Webhook URL', hint: 'Treat this URL like a password.' },
}

/** Strings of the alert rules. */
export const alertText = {
  intro:
    'The hub watches running agents and notifies operators through the channels above, within their quiet hours. An alert stops nothing.',
  none: 'No alert rules yet.',
  add: 'Add an alert',
  kind: 'Alert when',
  kinds: {
    stuck: 'an agent is stuck',
    errors: 'many calls fail',
    loop: 'an agent repeats itself',
    spend: 'agents spend too much',
  },
  minutes: 'Minutes without an event',
  percent: 'Percent that failed',
  calls: 'Number of last calls',
  equalCalls: 'Equal calls in a row',
  failures: 'Equal failures in a row',
  usd: 'US dollars',
  window: 'Window',
  windows: { 60: 'one hour', 1440: '24 hours', 10080: '7 days', 43200: '30 days' } as Record<number, string>,
  per: 'Counted',
  pers: { all: 'for all agents', app: 'for each agent', person: 'for each person' } as Record<string, string>,
  app: 'Agent (empty: all)',
  save: 'Add',
  cancel: 'Cancel',
  remove: 'Remove',
  removeRule: (sentence: string) => `Remove the alert “${sentence}”`,
  adminsOnly: 'Only admins can change alerts.',
  signInTo: 'change alerts',
  open: 'open now',
  loading: 'Loading …',
  only: (app: string) => ` Only ${app}.`,
  sentences: {
    stuck: (minutes: number) => `An agent in the middle of a turn reports nothing for ${minutes} min.`,
    errors: (percent: number, calls: number) =>
      `${percent} % of the last ${calls} calls of a session failed.`,
    loop: (failures: number, calls: number) =>
      `A session repeats the same failure ${failures} times or the same call ${calls} times.`,
    spend: (usd: number, per: string, window: string) => `More than $${usd} ${per} in ${window}.`,
  },
}
