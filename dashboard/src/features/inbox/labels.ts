import type { Notification, Status } from '../../lib/api/schema'
import { kindSuffixes, statusText, suppressionReasons } from './statusText'

export function stateLabel(n: Notification): string {
  const attempts = n.attempts ?? 0
  switch (n.state) {
    case 'queued':
      return attempts > 0 ? statusText.retrying(attempts) : statusText.pending
    case 'sent':
      return statusText.sent
    case 'suppressed':
      return statusText.skipped(n.why ? (suppressionReasons[n.why] ?? n.why) : '')
    case 'failed':
      return statusText.failed(attempts)
  }
}

/** The recipient and the channel of a notification. */
export const recipientLabel = (n: Notification): string =>
  [n.person ? statusText.via(n.person, n.channel) : n.channel, kindSuffixes[n.kind]].filter(Boolean).join(' ')

/** The number of a request's notifications by state; empty if there are none. */
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
  const { counts } = statusText
  return [
    n.sent && counts.sent(n.sent),
    n.queued && counts.queued(n.queued),
    n.suppressed && counts.suppressed(n.suppressed),
    n.failed && counts.failed(n.failed),
  ]
    .filter(Boolean)
    .join(', ')
}
