import { isNumber } from '../../lib/api/exactJson'
import { readStored, store } from '../../lib/page/stored'
import type { LedgerEntry } from '../../lib/api/schema'
import { actions, cancellations, outcomes, text } from './text'

export const STORAGE_KEY = 'hookback.ledger'

/** The newest entry that this browser has seen of a hub. */
export interface LastSeenEntry {
  hub: string
  n: number
  hash: string
  at: number
}

const readAll = () => (readStored(STORAGE_KEY) ?? {}) as Record<string, Partial<LastSeenEntry>>

/** Returns undefined if nothing valid is stored for the hub. */
export function loadLastSeen(hub: string): LastSeenEntry | undefined {
  const all = readAll()
  const { n, hash, at } = (Object.hasOwn(all, hub) && all[hub]) || {}
  return typeof n === 'number' && typeof hash === 'string' && typeof at === 'number'
    ? { hub, n, hash, at }
    : undefined
}

/** Stores an entry of a hub, unless a later one is stored: another tab may have seen more. */
export function saveLastSeen(seen: LastSeenEntry): void {
  if ((loadLastSeen(seen.hub)?.n ?? 0) <= seen.n) store(STORAGE_KEY, { ...readAll(), [seen.hub]: seen })
}

/** Removes the stored entry of a hub. */
export const forgetLastSeen = (hub: string): void => store(STORAGE_KEY, { ...readAll(), [hub]: undefined })

/**
 * Describes how a hub's log was rewritten since an entry was seen; undefined if it has only
 * grown. found is the log's current entry with the number of the seen one, newest its last.
 */
export function detectRewrite(
  seen: LastSeenEntry,
  found: LedgerEntry | undefined,
  newest: LedgerEntry | undefined,
): string | undefined {
  if (!newest || newest.n < seen.n) return text.truncated(seen.n, newest?.n)
  if (!found || found.n !== seen.n) return text.entryGone(seen.n)
  if (found.hash !== seen.hash) return text.hashChanged(seen.n)
  return undefined
}

/** The number of the first entry that does not continue the hash chain; undefined if all do. */
export function findBreak(entries: readonly LedgerEntry[]): number | undefined {
  return entries.find(
    (e, i) => i > 0 && (e.prev !== entries[i - 1]?.hash || e.n !== (entries[i - 1]?.n ?? 0) + 1),
  )?.n
}

type Data = Record<string, unknown>
/** The first of the members that is a non-empty string or a number. */
const firstValue = (data: Data, ...names: string[]): string => {
  for (const name of names) {
    const value = data[name]
    if (typeof value === 'string' && value) return value
    if (isNumber(value)) return String(value)
  }
  return ''
}

/** The program that a responder answered with, and what started it; empty: unknown. */
const programOf = (by: unknown): string => {
  const process = (by as { process?: { pid: number; exe?: string; ancestors?: string[] } } | undefined)
    ?.process
  return process
    ? [`${process.exe ?? ''} (${process.pid})`, ...(process.ancestors ?? [])].join(' ← ').trim()
    : ''
}

/** The verb of an entry. Unknown acts become their own words. */
export const actionLabel = (e: LedgerEntry): string =>
  actions[e.act] ?? e.act.replace(/^\w+\./, '').replaceAll('_', ' ')

/** The details of an entry: its outcome or choice, a rule's sentence or a name, a reason. */
export function actionDetail({ data }: LedgerEntry): string {
  const d = (data ?? {}) as Data
  const outcome = firstValue(d, 'outcome', 'choice')
  const parts = [
    d.test === true ? text.testRequest : '',
    (outcome === '__cancelled__' && cancellations[firstValue(d, 'source')]) || (outcomes[outcome] ?? outcome),
    firstValue(d, 'text', 'name', 'person', 'role'),
    firstValue(d, 'reason', 'comment', 'cancellationReason'),
    programOf(d.by),
  ]
  return [...new Set(parts.filter(Boolean))].join(' · ')
}
