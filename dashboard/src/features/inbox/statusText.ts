// Separate from text.ts, because the inbox loads it with every request.

import type { Notification } from '../../lib/api/schema'

/** Strings of the notification status on a request. */
export const statusText = {
  notified: 'Notified:',
  sent: 'sent',
  pending: 'pending',
  retrying: (attempts: number) => `retrying after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
  skipped: (reason: string) => (reason ? `skipped, ${reason}` : 'skipped'),
  failed: (attempts: number) => (attempts > 1 ? `failed after ${attempts} attempts` : 'failed'),
  via: (person: string, channel: string) => `${person} via ${channel}`,
  counts: {
    sent: (n: number) => `${n} sent`,
    queued: (n: number) => `${n} pending`,
    suppressed: (n: number) => `${n} skipped`,
    failed: (n: number) => `${n} failed`,
  },
}

export const suppressionReasons: Record<NonNullable<Notification['why']>, string> = {
  cooldown: 'notified recently',
  quiet_hours: 'in their quiet hours',
  watching: 'already viewing it',
  answered: 'already answered',
  no_address: 'no address known',
  gone: 'no longer allowed to answer',
}

export const kindSuffixes: Record<Notification['kind'], string> = {
  asked: '',
  reminder: '(reminder)',
  escalated: '(escalation)',
}
