import type { LedgerEntry } from '../schema'

const NAME = 'hookback.ledger'

/** The last entry that this browser saw, of which hub. */
export interface LastSeenEntry {
  hub: string
  n: number
  hash: string
  at: number
}

export function loadLastSeen(hub: string): LastSeenEntry | undefined {
  try {
    const all = JSON.parse(localStorage.getItem(NAME) ?? '{}') as Record<string, Partial<LastSeenEntry>>
    const { n, hash, at } = (Object.hasOwn(all, hub) && all[hub]) || {}
    return typeof n === 'number' && typeof hash === 'string' && typeof at === 'number'
      ? { hub, n, hash, at }
      : undefined
  } catch {
    return undefined
  }
}

export function saveLastSeen(seen: LastSeenEntry): void {
  try {
    const all = JSON.parse(localStorage.getItem(NAME) ?? '{}') as object
    localStorage.setItem(NAME, JSON.stringify({ ...all, [seen.hub]: seen }))
  } catch {
    // Nothing is kept: the next visit has nothing to compare with.
  }
}

/**
 * What is wrong with a hub's record against what was seen of it; undefined when it only
 * grew. found: its entry with the number that was seen, newest: its last one.
 */
export function detectRewrite(
  seen: LastSeenEntry,
  found: LedgerEntry | undefined,
  newest: LedgerEntry | undefined,
): string | undefined {
  if (!newest || newest.n < seen.n)
    return `Entry ${seen.n} was its last when this browser looked; now it ends with ${newest ? `entry ${newest.n}` : 'none'}. Something was cut off.`
  if (!found || found.n !== seen.n) return `Entry ${seen.n} is not there any more.`
  if (found.hash !== seen.hash)
    return `Entry ${seen.n} has another hash than before: it, or one before it, was changed.`
  return undefined
}

/** Whether entries that follow each other are one chain: each holds the hash of the one before. */
export function findBreak(entries: readonly LedgerEntry[]): number | undefined {
  return entries.find(
    (e, i) => i > 0 && (e.prev !== entries[i - 1]?.hash || e.n !== (entries[i - 1]?.n ?? 0) + 1),
  )?.n
}

type Data = Record<string, unknown>
const text = (data: Data, ...names: string[]): string => {
  for (const name of names) {
    const value = data[name]
    if (typeof value === 'string' && value) return value
    if (typeof value === 'number') return String(value)
  }
  return ''
}

const acts: Record<string, string> = {
  'question.voted': 'voted on',
  'question.ended': 'ended',
  'question.edited': 'changed the call of',
  'question.extended': 'gave more time to',
  'question.escalated': 'put to more people',
  'person.added': 'made known',
  'person.invited': 'made known',
  'person.changed': 'changed',
  'person.removed': 'removed',
  'person.signed_in': 'signed in',
  'person.signed_out': 'signed out',
  'token.made': 'made the token',
  'token.revoked': 'revoked the token',
  'hub.locked': 'locked the hub',
  'hub.unlocked': 'unlocked the hub',
  'rule.made': 'made a rule',
  'rule.revoked': 'revoked a rule',
  'channel.made': 'made the channel',
  'channel.removed': 'removed the channel',
}

const outcomes: Record<string, string> = {
  __timeout__: 'no answer',
  __cancelled__: 'cancelled',
  __withdrawn__: 'withdrawn',
  __no_quorum__: 'no majority',
  approve: 'approved',
  deny: 'denied',
}

/** What was done, in words, without who and of what. */
export const actionLabel = (e: LedgerEntry): string =>
  acts[e.act] ?? e.act.replace(/^\w+\./, '').replaceAll('_', ' ')

/** What else there is to say of it: the outcome, the choice, the rule's words, a name. */
export function actionDetail({ data }: LedgerEntry): string {
  const d = (data ?? {}) as Data
  const outcome = text(d, 'outcome', 'choice')
  const parts = [
    outcomes[outcome] ?? outcome,
    text(d, 'text', 'name', 'person', 'role'),
    text(d, 'reason', 'comment', 'cancellationReason'),
  ]
  return [...new Set(parts.filter(Boolean))].join(' · ')
}
