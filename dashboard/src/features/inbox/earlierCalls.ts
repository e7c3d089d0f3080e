import { formatAgo } from '../../lib/format/clock'
import { receivedAt } from '../../lib/stream/eventView'
import type { QuestionContext } from '../../lib/api/types'
import { lazyInboxText } from './lazyText'

const copy = lazyInboxText.activity

/**
 * Summarizes the earlier outcomes of the same call. quote is the reason of the last one.
 * undefined if the call was never asked before.
 */
export function earlierCallsText(
  { approved, denied, other, last }: QuestionContext['earlier'],
  now: number,
): { before: string; quote?: string } | undefined {
  const single = [denied, approved, other].filter((n) => n > 0).length === 1
  const parts = [
    denied > 0 && copy.denied(denied, single),
    approved > 0 && copy.approved(approved, single),
    other > 0 && copy.unanswered(other, single),
  ].filter((part): part is string => part !== false)
  if (parts.length === 0) return undefined
  const status = last?.humanInTheLoopStatus
  const when = last && formatAgo(status?.respondedAt ?? receivedAt(last), now)
  const outcome = copy.lastOutcome[status?.outcome ?? '']
  const text = copy.summary(parts, when && !single ? copy.last(outcome ? `${outcome} ` : '', when) : when)
  const reason = last && (status?.response?.reason ?? status?.reason)
  return { before: text + (reason ? ': ' : '.'), quote: reason }
}
