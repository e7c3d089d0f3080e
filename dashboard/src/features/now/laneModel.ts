import { freezeOf } from '../../lib/stream/freezes'
import { agentState, type AgentRequests, type AgentState } from '../../lib/stream/agents'
import type { Freeze, NowLane, NowStep } from '../../lib/api/schema'

/** Number of buckets of a strip. */
export const BUCKETS = 60

/** An interval of a strip; without an end it has not ended. */
export interface Wait {
  from: number
  to?: number
}

/** The state of a lane, with the requests of this page. */
export function laneState(
  lane: NowLane,
  requests: AgentRequests,
  now: number,
  freezes: readonly Freeze[] = [],
): AgentState {
  const { asks, undelivered, waitsSince, lostAt } = requests
  return agentState(
    {
      lastAt: lane.lastAt,
      ended: lane.ended,
      asks: asks !== undefined,
      undelivered: undelivered !== undefined,
      waits: waitsSince !== undefined,
      lostAt,
      frozen: !!freezeOf(freezes, lane),
      failing: lane.failing,
      running: lane.step !== undefined,
      phase: lane.phase,
    },
    now,
  )
}

/** How long people kept the session waiting, until now. */
export function blockedFor(lane: NowLane, requests: AgentRequests, reportAt: number, now: number): number {
  const { waitsSince } = requests
  return lane.blockedMs + (waitsSince === undefined ? 0 : Math.max(0, now - Math.max(reportAt, waitsSince)))
}

/** The waits of a strip. The page knows better than the report whether one has ended. */
export function stripWaits(lane: NowLane, requests: AgentRequests, reportAt: number): Wait[] {
  const { waitsSince } = requests
  const waits = (lane.waits ?? []).map(({ from, to }): Wait => ({ from, to: to ?? reportAt }))
  return waitsSince === undefined
    ? waits
    : [...waits.filter((w) => w.from < waitsSince), { from: waitsSince }]
}

/** The step of a lane that no request stops. */
export const runningStep = (lane: NowLane, requests: AgentRequests): NowStep | undefined =>
  requests.waitsSince === undefined && lane.requests?.length ? undefined : lane.step
