import type { search } from '../../lib/api/api'
import { Entry } from '../../lib/stream/eventView'
import { rangeStart, type TimeRange } from './timeRange'

/** The result of one request of a history search. */
export interface Step {
  /** The matches, oldest first. */
  entries: Entry[]
  /** The id up to which everything is searched. */
  reached: number
  /** No more matches in that direction. */
  complete: boolean
}

export interface HistoryQuery {
  filter: string
  range: TimeRange
  direction: 'back' | 'on'
  /** Exclusive start: only smaller ids (back) or larger ids (on). */
  from: number
  /** Number of matches after which it stops. */
  want: number
  now: number
  signal: AbortSignal
}

const LIMIT = 200

/** The parameters of a search within a range. now: the hub's clock. */
export function boundsOf(range: TimeRange, now: number): { from?: number; to?: number } {
  const from = rangeStart(range, now)
  return {
    ...(Number.isFinite(from) ? { from: Math.max(0, Math.floor(from)) } : {}),
    ...(range.to === undefined ? {} : { to: range.to }),
  }
}

interface Calls {
  search: typeof search
}

/**
 * Searches the hub's history step by step, until enough matches are found, the history ends,
 * or the signal is aborted. The hub searches a bounded part of its log per request, so a
 * step may be empty.
 */
export async function* searchHistory(ask: HistoryQuery, calls: Calls): AsyncGenerator<Step> {
  const fixed = boundsOf(ask.range, ask.now)
  let at = ask.from
  for (let found = 0; found < ask.want;) {
    const where = ask.direction === 'back' ? { before: at } : { after: at }
    const limit = Math.min(LIMIT, ask.want - found)
    const result = await calls.search(ask.filter, { ...fixed, ...where, limit }, ask.signal)
    if (ask.signal.aborted) return
    const moved = ask.direction === 'back' ? result.searchedTo < at : result.searchedTo > at
    // Without progress the search would repeat forever.
    const complete = result.complete || !moved
    at = result.searchedTo
    found += result.events.length
    yield { entries: result.events.map((e) => new Entry(e)), reached: at, complete }
    if (complete) return
  }
}
