import { clockTime, formatLongDuration } from '../../lib/format/clock'
import { isDecidable, type Request } from '../../lib/stream/requests'
import type { DeadlineExtension } from '../../lib/api/schema'
import { joinNames } from '../../lib/format/text'
import { lazyInboxText } from './lazyText'

const copy = lazyInboxText.automatic

/** Returns a warning if the agent could not be notified of the new deadline; undefined otherwise. */
export function deadlineNotSent(r: Request): string | undefined {
  const { extended } = r.status
  if (extended?.agent !== 'unreachable' || !isDecidable(r)) return undefined
  const why = extended.error ? ` (${extended.error})` : ''
  return copy.deadlineNotSent(why)
}

/** The last deadline extension, and whether the agent was notified. */
function extensionText({ by, at, agent }: DeadlineExtension): string {
  const extended = copy.extended(by, clockTime(at))
  if (agent === 'delivered') return extended + copy.extensionDelivered
  if (agent === 'queued') return extended + copy.extensionQueued
  return extended + '.'
}

/** The reminders, escalation and extensions of a request, one sentence each. */
export function automaticActions(r: Request): string[] {
  const { question: q, status } = r
  const facts: string[] = []
  if (status.extended && isDecidable(r)) facts.push(extensionText(status.extended))
  const sent = status.reminders ?? 0
  const due = q.reminderMaxCount ?? 0
  if (sent > 0) facts.push(copy.reminded(sent, due))
  else if (due > 0 && isDecidable(r))
    facts.push(copy.reminds(due, formatLongDuration((q.reminderIntervalSeconds ?? 0) * 1000)))
  const to = q.escalateTo
  const targets = to?.members?.length
    ? joinNames(to.members)
    : (copy.recipients[to?.mode ?? ''] ?? copy.others)
  if (status.escalatedAt) facts.push(copy.escalated(clockTime(status.escalatedAt), targets))
  else if (to && q.escalateAfterSeconds && isDecidable(r))
    facts.push(copy.escalates(clockTime(r.askedAt + q.escalateAfterSeconds * 1000), targets))
  if (status.defaults) {
    const { members, reduced } = status.defaults
    if (members.length > 0) facts.push(copy.byDefault(joinNames(members.map((m) => copy.defaults[m] ?? m))))
    if (reduced) facts.push(copy.reducedDefaults)
  }
  if (q.onTimeout === 'fail_run' && isDecidable(r) && status.expiresAt) facts.push(copy.failsRun)
  return facts
}
