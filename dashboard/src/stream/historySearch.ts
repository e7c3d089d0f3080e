import type * as api from '../api'
import { Entry } from '../eventView'
import { rangeStart, type TimeRange } from './timeRange'

/** One step of a search through the hub's history. */
export interface Step {
  /** What fits, oldest first. */
  entries: Entry[]
  /** The id up to which everything has been looked at. */
  reached: number
  /** Nothing more fits in that direction. */
  complete: boolean
}

export interface HistoryQuery {
  filter: string
  range: TimeRange
  direction: 'back' | 'on'
  /** Only ids before it (back), or behind it (on). */
  from: number
  /** How many to find before it stops. */
  want: number
  now: number
  signal: AbortSignal
}

const LIMIT = 200

type Calls = Pick<typeof api, 'search'>

/**
 * Looks through the hub's history, step by step, until enough is found, there is
 * nothing more, or the signal is aborted. The hub looks at a bounded stretch of
 * its log at a time, so a step may bring nothing.
 */
export async function* searchHistory(ask: HistoryQuery, calls: Calls): AsyncGenerator<Step> {
  const from = rangeStart(ask.range, ask.now)
  const fixed = {
    ...(Number.isFinite(from) ? { from: Math.max(0, Math.floor(from)) } : {}),
    ...(ask.range.to === undefined ? {} : { to: ask.range.to }),
    limit: Math.min(LIMIT, ask.want),
  }
  let at = ask.from
  for (let found = 0; found < ask.want;) {
    const where = ask.direction === 'back' ? { before: at } : { after: at }
    const result = await calls.search(ask.filter, { ...fixed, ...where }, ask.signal)
    if (ask.signal.aborted) return
    const moved = ask.direction === 'back' ? result.searchedTo < at : result.searchedTo > at
    // A search that stands still would be asked again for ever.
    const complete = result.complete || !moved
    at = result.searchedTo
    found += result.events.length
    yield { entries: result.events.map((e) => new Entry(e)), reached: at, complete }
    if (complete) return
  }
}
