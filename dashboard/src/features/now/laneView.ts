import type { Freeze, NowLane, NowReport, NowStep } from '../../lib/api/schema'
import type { AgentRequests, AgentState, RequestIndex } from '../../lib/stream/agents'
import { BUCKETS, blockedFor, laneState, runningStep, stripWaits, type Wait } from './laneModel'
import type { LaneRank } from './laneOrder'

/** A lane as it is shown. */
export interface LaneView extends LaneRank {
  lane: NowLane
  state: AgentState
  requests: AgentRequests
  step: NowStep | undefined
  strip: { from: number; counts: number[] }
  waits: Wait[]
  knownFrom: number
  /** How long people kept it waiting, ms. */
  blocked: number
}

/** The lanes of the hub's report, with what this page knows better: the requests and the freezes. */
export function laneViews(
  { lanes, at, stripFrom, knownFrom }: NowReport,
  index: RequestIndex,
  now: number,
  freezes: readonly Freeze[] = [],
): LaneView[] {
  return lanes.map((lane) => {
    const requests = index.of(lane.source_app, lane.session_id)
    return {
      key: JSON.stringify([lane.source_app, lane.session_id]),
      lane,
      requests,
      state: laneState(lane, requests, now, freezes),
      askedAt: requests.asks?.askedAt,
      startedAt: lane.startedAt,
      step: runningStep(lane, requests),
      strip: { from: stripFrom, counts: lane.buckets ?? new Array<number>(BUCKETS).fill(0) },
      waits: stripWaits(lane, requests, at),
      knownFrom,
      blocked: blockedFor(lane, requests, at, now),
    }
  })
}

/** The length of a strip, ms. */
export const STRIP_MS = 600_000

/** The height of a bar as a share: the first events count most, so that one is visible beside hundreds. */
export const barShare = (n: number): number => (n > 0 ? Math.min(1, 0.25 + Math.log10(n) * 0.375) : 0)

/** The bars of a strip as the path of an SVG image: a bucket is one unit wide, the strip one unit high. */
export const stripPath = (counts: readonly number[]): string =>
  counts.map((n, i) => (n > 0 ? `M${i + 0.15},1V${1 - barShare(n)}h.7V1z` : '')).join('')

/** The parts of a strip in which a person was waited for, in percent. */
export function waitBoxes(waits: readonly Wait[], stripFrom: number, now: number) {
  const percent = (at: number) => Math.min(100, Math.max(0, (100 * (at - stripFrom)) / STRIP_MS))
  return waits.flatMap(({ from, to = now }) => {
    const [left, width] = [percent(from), percent(to) - percent(from)]
    return width > 0 ? [{ left, width }] : []
  })
}

/** The length of the union of the waits after from, in whole seconds as ms. */
export function unionLength(waits: readonly Wait[], from: number, now: number): number {
  let length = 0
  let reached = from
  for (const wait of [...waits].sort((a, b) => a.from - b.from)) {
    const to = wait.to ?? now
    length += Math.max(0, to - Math.max(reached, wait.from))
    reached = Math.max(reached, to)
  }
  return Math.floor(length / 1000) * 1000
}
