import { formatAgo } from '../clock'
import { receivedAt } from '../eventView'
import type { QuestionContext } from '../types'
import { inboxText } from './text'

const copy = inboxText.activity



/**
 * Summarizes the earlier outcomes of the same call. quote is the reason of the last one.
 * undefined if the call was never asked before.
 */
export function earlierCallsText(
  { approved, denied, other, last }: QuestionContext['earlier'],
  now: number,
): { before: string; quote?: string } | undefined {
  const parts = [
    denied > 0 && copy.denied(denied),
    approved > 0 && copy.approved(approved),
    other > 0 && copy.unanswered(other),
  ].filter((part): part is string => part !== false)
  if (parts.length === 0) return undefined
  const status = last?.humanInTheLoopStatus
  const when = last && formatAgo(status?.respondedAt ?? receivedAt(last), now)
  const lastOutcome =
    last && parts.length > 1 && copy.lastOutcome[status?.outcome ?? ''] ? `${copy.lastOutcome[status?.outcome ?? '']} ` : ''
  const text = copy.summary(parts, when && (parts.length > 1 ? copy.last(lastOutcome, when) : when))
  const reason = last && (status?.response?.reason ?? status?.reason)
  return { before: text + (reason ? ': ' : '.'), quote: reason }
}
