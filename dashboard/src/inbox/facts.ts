import { clockTime, lasting } from '../clock'
import { open, type Request } from '../requests'
import { names } from './tally'

const modes: Record<string, string> = {
  owner: 'the owner',
  owner_admins: 'the owner and the admins',
  anyone: 'everybody',
}

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`)

/** What the hub does by itself while nobody answers, and what it has done, a sentence each. */
export function factsOf(r: Request): string[] {
  const { question: q, status } = r
  const facts: string[] = []
  const sent = status.reminders ?? 0
  const due = q.reminderMaxCount ?? 0
  if (sent > 0) facts.push(`Reminded ${times(sent)}${due > 0 ? ` of ${due}` : ''}.`)
  else if (due > 0 && open(r))
    facts.push(`Reminds ${times(due)} at most, every ${lasting((q.reminderIntervalSeconds ?? 0) * 1000)}.`)
  const to = q.escalateTo
  const whom = to?.members?.length ? names(to.members) : (modes[to?.mode ?? ''] ?? 'others')
  if (status.escalatedAt) facts.push(`Since ${clockTime(status.escalatedAt)} ${whom} are asked too.`)
  else if (to && q.escalateAfterSeconds && open(r))
    facts.push(`At ${clockTime(r.asked + q.escalateAfterSeconds * 1000)} ${whom} will be asked too.`)
  if (q.onTimeout === 'fail_run' && open(r) && status.expiresAt)
    facts.push('If nobody answers in time, the agent stops its run.')
  return facts
}
