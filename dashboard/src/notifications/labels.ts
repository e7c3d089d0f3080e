import type { Notification, Status } from '../schema'

const suppressionReasons: Record<NonNullable<Notification['why']>, string> = {
  cooldown: 'told not long ago',
  quiet_hours: 'in their quiet hours',
  watching: 'had it on screen',
  answered: 'answered already',
  no_address: 'no address known',
  gone: 'may not answer any more',
}

const kindSuffixes: Record<Notification['kind'], string> = {
  asked: '',
  reminder: 'reminder',
  escalated: 'escalation',
}

/** What became of one message. */
export function stateLabel(n: Notification): string {
  switch (n.state) {
    case 'queued':
      return (n.attempts ?? 0) > 0 ? `tried ${n.attempts}×, again soon` : 'on its way'
    case 'sent':
      return 'sent'
    case 'suppressed':
      return `not sent: ${n.why ? (suppressionReasons[n.why] ?? n.why) : 'held back'}`
    case 'failed':
      return `failed${(n.attempts ?? 0) > 1 ? ` after ${n.attempts} tries` : ''}`
  }
}

/** Whom it was for and by which channel. */
export const recipientLabel = (n: Notification): string =>
  [n.person, n.person ? `by ${n.channel}` : n.channel, kindSuffixes[n.kind] && `(${kindSuffixes[n.kind]})`]
    .filter(Boolean)
    .join(' ')

/** All of a request's messages in one line; empty where there are none. */
export function summaryText({
  notices = [],
  noticeCounts,
}: Pick<Status, 'notices' | 'noticeCounts'>): string {
  const count = (state: Notification['state']) => notices.filter((n) => n.state === state).length
  const n = noticeCounts ?? {
    queued: count('queued'),
    sent: count('sent'),
    suppressed: count('suppressed'),
    failed: count('failed'),
  }
  return [
    n.sent && `${n.sent} sent`,
    n.queued && `${n.queued} on ${n.queued === 1 ? 'its' : 'their'} way`,
    n.suppressed && `${n.suppressed} not sent`,
    n.failed && `${n.failed} failed`,
  ]
    .filter(Boolean)
    .join(', ')
}
