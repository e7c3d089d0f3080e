/** User-visible strings of the audit log. */
export const text = {
  title: 'Audit log',
  intro:
    'Every vote, outcome, rule, and change of people or channels. Each entry contains the hash of the previous one, so no entry can be changed or removed unnoticed.',
  alarm: 'The audit log was changed.',
  lastSeen: (n: number, hash: string) => `Entry ${n} was ${hash} when this browser last saw it.`,
  show: 'Show the audit log',
  forget: 'Forget this entry',
  confirmForget: 'Trust the current log?',
  entry: (n: number) => `entry ${n}`,
  lastChecked: 'This browser last checked it',
  alarmCause: 'Someone may have edited the database or restored an older copy of it.',
  accept: 'I know why: trust the current log',
  testRequest: 'test request',
  unchanged: (ago: string, n: number) =>
    `No entry has changed since this browser last checked, ${ago} (entry ${n}).`,
  firstCheck: 'This browser will check the log hasn’t changed on your next visit.',
  brokenAt: (n: number) => `Entry ${n} does not continue the entry before it.`,
  truncated: (n: number, newest: number | undefined) =>
    `Entry ${n} was the last one when this browser checked. Now the log ${newest === undefined ? 'is empty' : `ends with entry ${newest}`}: entries were cut off.`,
  entryGone: (n: number) => `Entry ${n} is missing.`,
  hashChanged: (n: number) =>
    `The hash of entry ${n} is different: this entry or an earlier one was changed.`,
  newestHash: (n: number) => `Hash of entry ${n}`,
  copyHash: 'Copy the hash',
  copyCommand: 'Copy the command',
  download: 'Download the log',
  howToVerify:
    'Keep the hash somewhere the hub’s machine can’t reach. To verify the log, run the first command, or the second one on the downloaded file:',
  older: 'Load older entries',
  empty: 'No entries yet. Decisions and changes appear here.',
  loading: 'Loading …',
  retry: 'Try again',
}

/** Verbs for the `act` of an entry, between its subject and its object. */
export const actions: Record<string, string> = {
  'question.voted': 'voted on',
  'question.ended': 'closed',
  'question.edited': 'edited the call of',
  'question.extended': 'extended',
  'question.escalated': 'escalated',
  'question.answer_dropped': 'discarded an answer of',
  'person.made': 'added',
  'person.changed': 'changed',
  'person.removed': 'removed',
  'person.reset': 'reset the account of',
  'person.link_made': 'created a sign-in link for',
  'person.pairing_made': 'created a pairing code for',
  'person.signed_in': 'signed in',
  'person.sign_in_failed': 'failed to sign in',
  'person.signed_out': 'signed out',
  'owner.link_made': 'created the owner’s sign-in link at its start',
  'passkey.added': 'added a passkey',
  'passkey.removed': 'removed a passkey',
  'passkey.refused': 'used a wrong passkey',
  'chat.linked': 'linked a chat account',
  'chat.unlinked': 'unlinked a chat account',
  'push.removed': 'removed a push subscription',
  'token.made': 'created token',
  'token.revoked': 'revoked token',
  'token.refused': 'sent a token that does not work',
  'share.made': 'shared a session',
  'share.opened': 'was opened for the first time',
  'share.revoked': 'revoked a share link',
  'freeze.made': 'froze',
  'freeze.lifted': 'resumed',
  'grant.made': 'allowed once',
  'grant.used': 'used a one-time approval',
  'grant.revoked': 'revoked a one-time approval',
  'grant.expired': 'let a one-time approval expire',
  'message.saved': 'sent a message',
  'requests.changed': 'changed the defaults of requests',
  'safety.changed': 'changed the limits of automatic freezes',
  'hub.locked': 'locked the hub',
  'hub.unlocked': 'unlocked the hub',
  'key.rotated': 'rotated the key',
  'key.replaced': 'replaced the key',
  'alerts.changed': 'changed the alert rules',
  'reach.changed': 'changed the public address',
  'rule.made': 'created a rule',
  'rule.revoked': 'revoked a rule',
  'channel.made': 'added channel',
  'channel.removed': 'removed channel',
}

/** Outcomes that the hub stores as labels. */
export const outcomes: Record<string, string> = {
  __timeout__: 'no answer',
  __cancelled__: 'canceled',
  __withdrawn__: 'withdrawn',
  __no_quorum__: 'no majority',
  approve: 'approved',
  deny: 'denied',
}

/** How a request was canceled, by the source of its end. */
export const cancellations: Record<string, string> = {
  dismissed: 'dismissed in the agent',
  orphaned: 'the agent is gone',
  session_end: 'the session ended',
  superseded: 'replaced by a newer request',
}
