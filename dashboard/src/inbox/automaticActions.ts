import { clockTime, formatLongDuration } from '../clock'
import { isDecidable, type Request } from '../requests'
import type { DeadlineExtension } from '../schema'
import { joinNames } from './voteTally'

const modes: Record<string, string> = {
  owner: 'the owner',
  owner_admins: 'the owner and the admins',
  anyone: 'everybody',
}

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`)

/** How an agent that could not be told of more time is spoken of; undefined where it is told. */
export function deadlineNotSent(r: Request): string | undefined {
  const { extended } = r.status
  if (extended?.agent !== 'unreachable' || !isDecidable(r)) return undefined
  const why = extended.error ? ` (${extended.error})` : ''
  return `The agent could not be told of the new deadline${why}. It may stop waiting at the old one; an answer given later is kept for it.`
}

/** What became of the last time that somebody gave it more time. */
function extensionText({ by, at, agent }: DeadlineExtension): string {
  const gave = `${by} gave it more time at ${clockTime(at)}`
  if (agent === 'delivered') return `${gave}; the agent knows.`
  if (agent === 'queued') return `${gave}; the agent is being told.`
  return `${gave}.`
}

/** What the hub does by itself while nobody answers, and what it has done, a sentence each. */
export function automaticActions(r: Request): string[] {
  const { question: q, status } = r
  const facts: string[] = []
  if (status.extended && isDecidable(r)) facts.push(extensionText(status.extended))
  const sent = status.reminders ?? 0
  const due = q.reminderMaxCount ?? 0
  if (sent > 0) facts.push(`Reminded ${times(sent)}${due > 0 ? ` of ${due}` : ''}.`)
  else if (due > 0 && isDecidable(r))
    facts.push(`Reminds ${times(due)} at most, every ${formatLongDuration((q.reminderIntervalSeconds ?? 0) * 1000)}.`)
  const to = q.escalateTo
  const whom = to?.members?.length ? joinNames(to.members) : (modes[to?.mode ?? ''] ?? 'others')
  if (status.escalatedAt) facts.push(`Since ${clockTime(status.escalatedAt)} ${whom} are asked too.`)
  else if (to && q.escalateAfterSeconds && isDecidable(r))
    facts.push(`At ${clockTime(r.askedAt + q.escalateAfterSeconds * 1000)} ${whom} will be asked too.`)
  if (q.onTimeout === 'fail_run' && isDecidable(r) && status.expiresAt)
    facts.push('If nobody answers in time, the agent stops its run.')
  return facts
}
