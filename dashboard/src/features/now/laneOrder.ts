import type { AgentState } from '../../lib/stream/agents'

const ranks: Record<AgentState, number> = {
  'needs-you': 0,
  undelivered: 1,
  failing: 2,
  terminal: 3,
  working: 4,
  'turn-ended': 5,
  idle: 5,
  frozen: 6,
  gone: 7,
  ended: 8,
}

/** What the order of lanes depends on. */
export interface LaneRank {
  key: string
  state: AgentState
  /** When its oldest request that needs the user was asked. */
  askedAt?: number
  startedAt: number
}

/**
 * Compares by state, then by the longest wait, then by the latest start. Activity does not count, or
 * busy lanes would change places all the time.
 */
export function compareLanes(a: LaneRank, b: LaneRank): number {
  return (
    ranks[a.state] - ranks[b.state] ||
    (a.askedAt ?? 0) - (b.askedAt ?? 0) ||
    b.startedAt - a.startedAt ||
    (a.key < b.key ? -1 : 1)
  )
}

/** Orders lanes. frozen: the keys in the order on screen, which stays; new lanes follow at the end. */
export function arrangeLanes<T extends LaneRank>(lanes: readonly T[], frozen?: readonly string[]): T[] {
  const sorted = [...lanes].sort(compareLanes)
  if (!frozen) return sorted
  const rank = new Map(frozen.map((key, i) => [key, i]))
  return sorted.sort((a, b) => (rank.get(a.key) ?? frozen.length) - (rank.get(b.key) ?? frozen.length))
}
