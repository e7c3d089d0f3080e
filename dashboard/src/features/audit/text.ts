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
  'person.added': 'added',
  'person.invited': 'invited',
  'person.changed': 'changed',
  'person.removed': 'removed',
  'person.signed_in': 'signed in',
  'person.signed_out': 'signed out',
  'token.made': 'created token',
  'token.revoked': 'revoked token',
  'hub.locked': 'locked the hub',
  'hub.unlocked': 'unlocked the hub',
  'key.rotated': 'rotated the key',
  'key.replaced': 'replaced the key',
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
