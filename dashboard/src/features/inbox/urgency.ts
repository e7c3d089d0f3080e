import { riskLevel, type Request } from '../../lib/stream/requests'

const risks = { critical: 0, high: 1, medium: 2, low: 3 } as const

/** 0: at most a minute left; 1: at most five; 2: more, or no deadline. */
function timeBucket(r: Request, now: number): number {
  const left = (r.status.expiresAt ?? Infinity) - now
  return left <= 60_000 ? 0 : left <= 300_000 ? 1 : 2
}

/** Compares by the bucket of the time left, then by risk, deadline and id. A request without a risk level counts as medium. */
export function compareUrgency(a: Request, b: Request, now: number): number {
  const end = (r: Request) => r.status.expiresAt ?? Number.MAX_SAFE_INTEGER
  return (
    timeBucket(a, now) - timeBucket(b, now) ||
    risks[riskLevel(a) ?? 'medium'] - risks[riskLevel(b) ?? 'medium'] ||
    end(a) - end(b) ||
    a.id - b.id
  )
}

/** The length of the longest increasing subsequence. */
function longestIncreasing(ranks: readonly number[]): number {
  const ends: number[] = [] // the smallest end of an increasing sequence of each length
  for (const rank of ranks) {
    let low = 0
    let high = ends.length
    while (low < high) {
      const mid = (low + high) >> 1
      if ((ends[mid] ?? 0) < rank) low = mid + 1
      else high = mid
    }
    ends[low] = rank
  }
  return ends.length
}

export interface Arrangement {
  readonly rows: Request[]
  /** The number of rows that would move if the list were sorted now. */
  readonly moved: number
}

/**
 * Orders requests by urgency. frozen: the ids in the order on screen, which stays; new requests follow
 * at the end.
 */
export function arrange(requests: readonly Request[], now: number, frozen?: readonly number[]): Arrangement {
  const sorted = [...requests].sort((a, b) => compareUrgency(a, b, now))
  if (!frozen) return { rows: sorted, moved: 0 }
  const rank = new Map(frozen.map((id, i) => [id, i]))
  const rows = [...sorted].sort(
    (a, b) => (rank.get(a.id) ?? frozen.length) - (rank.get(b.id) ?? frozen.length),
  )
  const place = new Map(sorted.map((r, i) => [r.id, i]))
  return { rows, moved: rows.length - longestIncreasing(rows.map((r) => place.get(r.id) ?? 0)) }
}
