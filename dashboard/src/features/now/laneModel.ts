import { freezeOf } from '../../lib/stream/freezes'
import type { Freeze } from '../../lib/api/schema'
import {
  TEST_APP,
  agentState,
  firstPhase,
  turnPhase,
  type AgentRequests,
  type AgentState,
} from '../../lib/stream/agents'
import { isPrompt, isImport, isTelemetry, firstText, receivedAt } from '../../lib/stream/eventView'
import { toolOf } from '../../lib/stream/eventText'
import type { NowLane, NowReport, NowStep } from '../../lib/api/schema'
import type { Event } from '../../lib/api/types'
import { stepVerbs } from './text'

/** How long after its last event a session without requests has a lane, ms. */
const ACTIVE_FOR = 30 * 60_000
/** Number of buckets of a strip. */
export const BUCKETS = 60
/** The failed calls in a row from which a session is failing, as in the hub. */
const FAILED_RUN = 3

/** An interval of a strip; without an end it has not ended. */
export interface Wait {
  from: number
  to?: number
}

/** A session with the events that arrived after the hub's report. */
export interface Lane extends NowLane {
  key: string
  /** Failed calls in a row. */
  failedRun: number
  /** Numbers of events by the start of their bucket, Unix ms. */
  counts: Map<number, number>
}

/** The figures that the hub reports. */
export type Figures = Pick<NowReport, 'at' | 'costUsd' | 'moreLanes' | 'working' | 'knownFrom' | 'lagMs'>

export const keyOf = (app: string, session: string): string => JSON.stringify([app, session])

/** The lanes: the last report of the hub, and the events after it. */
export class LaneModel {
  readonly lanes = new Map<string, Lane>()
  figures: Figures | undefined
  private upTo = 0
  private bucketMs = 10_000

  /** Replaces everything. Events up to report.upTo are in it. */
  load(report: NowReport): void {
    this.lanes.clear()
    this.figures = report
    this.upTo = report.upTo
    this.bucketMs = report.bucketMs
    for (const lane of report.lanes) {
      const key = keyOf(lane.source_app, lane.session_id)
      const counts = new Map<number, number>()
      for (const [i, n] of (lane.buckets ?? []).entries())
        if (n > 0) counts.set(report.stripFrom + i * report.bucketMs, n)
      this.lanes.set(key, { ...lane, key, failedRun: lane.failing ? FAILED_RUN : 0, counts })
    }
  }

  /** Adds an event of the stream. Events of the report are ignored. */
  add(e: Event): void {
    if (!this.figures || e.id <= this.upTo || e.source_app === TEST_APP || isTelemetry(e) || isImport(e))
      return
    this.upTo = e.id
    const at = receivedAt(e)
    const lane = this.laneOf(e, at)
    lane.lastAt = Math.max(lane.lastAt, at)
    lane.last = { id: e.id, hook_event_type: e.hook_event_type, tool_name: toolOf(e), at }
    lane.ended = e.hook_event_type === 'SessionEnd'
    const bucket = Math.floor(at / this.bucketMs) * this.bucketMs
    lane.counts.set(bucket, (lane.counts.get(bucket) ?? 0) + 1)
    lane.phase = turnPhase(lane.phase, e)
    follow(lane, e, at)
  }

  private laneOf(e: Event, at: number): Lane {
    const key = keyOf(e.source_app, e.session_id)
    let lane = this.lanes.get(key)
    if (!lane) {
      lane = {
        ...{ key, source_app: e.source_app, session_id: e.session_id, state: 'working', failedRun: 0 },
        ...{ startedAt: at, lastAt: at, blockedMs: 0, failures: 0, counts: new Map<number, number>() },
        phase: firstPhase(e),
      }
      this.lanes.set(key, lane)
    }
    return lane
  }

  /** The counts of the ten minutes before now, oldest first, and when they start. */
  strip(lane: Lane, now: number): { from: number; counts: number[] } {
    const from = (Math.floor(now / this.bucketMs) - BUCKETS + 1) * this.bucketMs
    const counts = Array.from({ length: BUCKETS }, (_, i) => lane.counts.get(from + i * this.bucketMs) ?? 0)
    return { from, counts }
  }

  /** Whether the lane is still shown: it was active, or an agent waits. */
  isShown(lane: Lane, requests: AgentRequests, now: number): boolean {
    return (
      now - lane.lastAt <= ACTIVE_FOR || requests.waitsSince !== undefined || requests.lostAt !== undefined
    )
  }
}

const starts = new Set(['PreToolUse', 'BeforeTool'])
const ends = new Set(['PostToolUse', 'PostToolUseFailure', 'AfterTool'])

/** Updates the step and the failures. */
function follow(lane: Lane, e: Event, at: number): void {
  const type = e.hook_event_type
  if (starts.has(type)) {
    lane.step = { text: stepText(e), since: at, tool_use_id: useIdOf(e) }
  } else if (ends.has(type)) {
    const failed = type === 'PostToolUseFailure' || e.error !== undefined
    const id = useIdOf(e)
    if (!id || !lane.step?.tool_use_id || id === lane.step.tool_use_id) lane.step = undefined
    lane.failedRun = failed ? lane.failedRun + 1 : 0
    if (failed) lane.failures++
  } else if (isPrompt(e) || type === 'SessionEnd') {
    lane.step = undefined
    lane.failedRun = 0
  } else if (type === 'Stop' || type === 'StopFailure') {
    lane.step = undefined
    if (type === 'StopFailure') lane.failedRun = FAILED_RUN
  }
  lane.failing = lane.failedRun >= FAILED_RUN && !lane.ended
}

function useIdOf(e: Event): string | undefined {
  const id = e.tool_use_id ?? e.payload.tool_use_id
  return typeof id === 'string' && id ? id : undefined
}

/** The call as one line, nearly as the hub puts it in the next report. */
function stepText(e: Event): string {
  const tool = toolOf(e) ?? ''
  const argument = (firstText(e.payload.tool_input) ?? '').replaceAll(/\s+/g, ' ')
  const { cwd } = e.payload
  const path =
    typeof cwd === 'string' && argument.startsWith(cwd + '/') ? argument.slice(cwd.length + 1) : argument
  const verb = Object.hasOwn(stepVerbs, tool) ? stepVerbs[tool] : undefined
  return (verb && path ? `${verb} ${path}` : `${stepVerbs.other} ${tool} ${path}`).trim().slice(0, 240)
}

/** The state of a lane, with the requests of this page. */
export function laneState(
  lane: Lane,
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
export function blockedFor(lane: Lane, requests: AgentRequests, reportAt: number, now: number): number {
  const { waitsSince } = requests
  return lane.blockedMs + (waitsSince === undefined ? 0 : Math.max(0, now - Math.max(reportAt, waitsSince)))
}

/** The waits of a strip. The page knows better than the report whether one has ended. */
export function stripWaits(lane: Lane, requests: AgentRequests, reportAt: number): Wait[] {
  const { waitsSince } = requests
  const waits = (lane.waits ?? []).map(({ from, to }): Wait => ({ from, to: to ?? reportAt }))
  return waitsSince === undefined
    ? waits
    : [...waits.filter((w) => w.from < waitsSince), { from: waitsSince }]
}

/** The step of a lane that no request stops. */
export const runningStep = (lane: Lane, requests: AgentRequests): NowStep | undefined =>
  requests.waitsSince === undefined && lane.requests?.length ? undefined : lane.step
