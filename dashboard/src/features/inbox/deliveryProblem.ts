import { formatTimeLeft } from '../../lib/format/clock'
import type { Delivery } from '../../lib/api/types'
import { lazyInboxText } from './lazyText'
import { requestText } from '../../lib/format/text'

const copy = lazyInboxText.deliveryProblems

/** Explains a failed delivery: the cause, the state that is kept, the next step. undefined without a failure. */
export function deliveryProblemText(d: Delivery, now: number): string | undefined {
  const cause = d.lastError ? ` (${d.lastError})` : ''
  const attempts = requestText.delivery.attempts(d.attempts)
  switch (d.state) {
    case 'unconfirmed':
      return copy.unconfirmed(cause)
    case 'refused':
      return d.nextAttemptAt !== undefined
        ? copy.refusing(cause, formatTimeLeft(d.nextAttemptAt - now), attempts)
        : copy.refused(cause)
    case 'unreachable':
      return d.nextAttemptAt !== undefined
        ? copy.retrying(cause, formatTimeLeft(d.nextAttemptAt - now), attempts)
        : copy.unreachable(cause, attempts)
    case 'too_late':
      return copy.tooLate(cause)
    case 'blocked':
      return copy.blocked(blockReason(d) ?? copy.notLocal)
    default:
      return undefined
  }
}

/** The hub's reason for not dialing, without the part that the title repeats. */
function blockReason(d: Delivery): string | undefined {
  const text = d.lastError?.replace('the hub may not dial this address: ', '')
  return text && text.charAt(0).toUpperCase() + text.slice(1)
}
