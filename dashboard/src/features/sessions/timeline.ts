import { isNumber } from '../../lib/api/exactJson'
import {
  receivedAt,
  isPrompt,
  isTelemetry,
  summaryWithoutTool,
  eventStyle,
  type EventStyle,
} from '../../lib/stream/eventView'
import { toolOf } from '../../lib/stream/eventText'
import { isNewer } from '../../lib/stream/requests'
import type { Event, Json, Status } from '../../lib/api/types'

// Builds the timeline of a session from its events: one bar per tool call, from PreToolUse
// to PostToolUse, one bar per wait for a person, and a mark for every other event. There is
// one lane per agent and subagent, and one turn per prompt. Events are added in the order of
// the hub's log. Times are the hub's; the timestamps of agents are ignored.

export type State =
  | 'running' // a call without an end so far
  | 'ok'
  | 'failed'
  | 'denied' // by a person or a rule
  | 'lost' // the agent continued without reporting the end
  | 'waiting' // for a person
  | 'answered'
  | 'unanswered' // timed out or canceled; of a call: its request was
  | 'plain' // a mark

/** A call, a wait, or a mark. A mark has no duration. */
export interface Bar {
  readonly kind: 'call' | 'wait' | 'mark'
  /** The index among all bars, in the order of the log. */
  readonly index: number
  readonly lane: Lane
  readonly turn: Turn
  start: number
  /** undefined until it ends */
  end: number | undefined
  state: State
  style: EventStyle
  tool: string | undefined
  /** The ids of its events. */
  readonly ids: number[]
  /** The most informative event: the end of a call, if it has one. */
  event: Event
  /** The call that a wait blocks. */
  host?: Bar
  /** The waits that blocked a call. */
  waits?: Bar[]
  /** The start of the call was not reported. It is derived from the duration in its end event. */
  startUnknown?: boolean
}

/** An agent or subagent. */
export interface Lane {
  readonly key: string
  readonly name: string
  readonly parent: Lane | undefined
  readonly depth: number
  readonly start: number
  /** When a subagent ended. */
  end: number | undefined
  /** All bars, in the order of the log. */
  readonly bars: Bar[]
}

/** A prompt and everything up to the next one. */
export interface Turn {
  readonly index: number
  readonly start: number
  end: number
  /** undefined for the events before the first prompt */
  prompt: Bar | undefined
  calls: number
  failures: number
  readonly waits: Bar[]
}

/** A line of the list of turns: a heading or a bar. The waits of a call are in its line. */
export type Row =
  | { turn: Turn; bar?: undefined; headingsBefore: number }
  | { bar: Bar; turn?: undefined; headingsBefore: number }

type HookRole = 'begin' | 'end' | 'failure' | 'denial' | 'other'

// Other agents than Claude Code have their own names for these hooks.
const hookRoles: Record<string, HookRole> = {
  pretooluse: 'begin',
  beforetool: 'begin',
  beforeshellexecution: 'begin',
  beforemcpexecution: 'begin',
  posttooluse: 'end',
  aftertool: 'end',
  aftershellexecution: 'end',
  aftermcpexecution: 'end',
  posttoolusefailure: 'failure',
  permissiondenied: 'denial',
}

const hookRole = (e: Event): HookRole => hookRoles[e.hook_event_type.toLowerCase()] ?? 'other'

const asString = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const agentIdOf = (e: Event): string =>
  (e.agent_id ?? asString(e.payload.agent_id)) || asString(e.payload.teammate_name)
const agentTypeOf = (e: Event): string => e.agent_type ?? asString(e.payload.agent_type)
const toolUseIdOf = (e: Event): string =>
  (e.tool_use_id ?? asString(e.payload.tool_use_id)) || (e.humanInTheLoop?.toolCall?.id ?? '')
/** Whether the hook denied the call without a person, because of a policy or a freeze. */
const isDeniedByHook = (e: Event): boolean => (e as { hook?: { verdict?: unknown } }).hook?.verdict === 'deny'
const requiresAnswer = (e: Event): boolean =>
  e.humanInTheLoop !== undefined && e.humanInTheLoop.requiresResponse !== false

/** When a wait ended, by the hub's clock; undefined while it is pending. */
function settledAt(status: Status | undefined, askedAt: number): number | undefined {
  if (!status || status.status === 'pending') return undefined
  const at = status.respondedAt ?? status.response?.respondedAt ?? status.expiresAt ?? askedAt
  return Math.max(askedAt, at)
}

function waitState(status: Status | undefined): State {
  if (!status || status.status === 'pending') return 'waiting'
  if (status.outcome === 'deny' || status.response?.permission === false) return 'denied'
  return status.status === 'responded' ? 'answered' : 'unanswered'
}

export class Session {
  /** Increases with every change. */
  version = 0
  /** The id of the newest event. */
  lastId = 0
  readonly bars: Bar[] = []
  readonly turns: Turn[] = []
  readonly rows: Row[] = []
  /** Parents precede their children. */
  readonly lanes: Lane[] = []
  readonly waits: Bar[] = []
  start = 0
  /** When the newest event arrived, by the hub's clock. */
  last = 0
  /** The number of events. */
  events = 0
  /** The coding agent whose hooks report the session; empty if unknown. */
  codingAgent = ''

  private readonly lanesByAgent = new Map<string, Lane>() // agent id → lane
  private readonly barsByEvent = new Map<number, Bar>() // event id → bar
  private readonly rowIndexes: number[] = [] // bar index → row
  private readonly callsById = new Map<string, Bar>() // tool use id → latest call
  private readonly openCalls = new Set<Bar>() // calls without an end
  private readonly completed = new Set<Bar>() // calls whose end was reported
  private readonly subagentStarters = new Set<Bar>() // calls that are assumed to have started a subagent
  private readonly pendingWaits = new Map<number, Bar>() // event id → wait
  private readonly waitStatuses = new Map<Bar, Status>()

  /** Adds the next event of the log. Events that are not newer than the last one are ignored. */
  addEvent(e: Event): void {
    if (e.id <= this.lastId) return
    this.lastId = e.id
    if (e.agent) this.codingAgent = e.agent
    if (isTelemetry(e)) {
      this.events++ // telemetry: only counted, its calls have their own events
      this.version++
      return
    }
    // The hub's clock may be set back, but times must follow the order of the log.
    const at = Math.max(this.last, receivedAt(e))
    if (this.start === 0) this.start = at
    this.events++
    this.last = at
    const lane = this.laneFor(e, at)
    this.trackTurn(e, at, lane)
    const role = hookRole(e)
    if (role === 'begin') this.beginCall(e, at, lane)
    else if (role !== 'other') this.endCall(e, at, role)
    if (requiresAnswer(e)) this.addWait(e, at, lane)
    else if (role === 'other') this.addMark(e, at, lane)
    this.version++
  }

  /** Updates the status of a question. Older revisions are ignored. */
  updateStatus(id: number, status: Status): void {
    const wait = this.pendingWaits.get(id)
    if (!wait || !isNewer(status, this.waitStatuses.get(wait) ?? { status: 'pending' })) return
    this.resolveWait(wait, status)
    this.version++
  }

  /** The ids of the pending questions. */
  get pendingQuestions(): Iterable<number> {
    return this.pendingWaits.keys()
  }

  /** Reports whether a call or a wait has not ended, so the timeline grows with time. */
  get busy(): boolean {
    return this.openCalls.size > 0 || this.pendingWaits.size > 0
  }

  bar(id: number): Bar | undefined {
    return this.barsByEvent.get(id)
  }

  statusOf(wait: Bar): Status | undefined {
    return this.waitStatuses.get(wait)
  }

  /** The index of a bar's row; -1 if it has none. */
  row(bar: Bar): number {
    return this.rowIndexes[bar.index] ?? -1
  }

  /** The end of the timeline: now while it is busy, else the last event. */
  end(now: number): number {
    return this.busy ? Math.max(now, this.last) : this.last
  }

  private laneFor(e: Event, at: number): Lane {
    const key = agentIdOf(e)
    const known = this.lanesByAgent.get(key)
    if (known) return known
    const parent = key === '' ? undefined : this.findParent(e, at)
    const type = agentTypeOf(e) || key.slice(0, 8)
    const same = this.lanes.filter((l) => l.key !== '' && l.name.replace(/ \d+$/, '') === type).length
    const lane: Lane = {
      key,
      name: key === '' ? 'main' : same > 0 ? `${type} ${same + 1}` : type,
      parent,
      depth: parent ? parent.depth + (parent.key === '' ? 0 : 1) : 0,
      start: at,
      end: undefined,
      bars: [],
    }
    this.lanesByAgent.set(key, lane)
    this.lanes.splice(this.insertIndex(parent), 0, lane)
    return lane
  }

  /** The index after the parent's lane and its descendants. The main lane is first. */
  private insertIndex(parent: Lane | undefined): number {
    if (!parent) return 0
    let i = this.lanes.indexOf(parent) + 1
    const within = (lane: Lane | undefined): boolean =>
      lane !== undefined && (lane === parent || within(lane.parent))
    while (i < this.lanes.length && within(this.lanes[i]?.parent)) i++
    return i
  }

  /** The parent named by the event, else the agent with an open call that starts such a subagent. */
  private findParent(e: Event, at: number): Lane {
    const parentId = asString(e.payload.parent_agent_id)
    const named = parentId ? this.lanesByAgent.get(parentId) : undefined
    if (named) return named
    const type = agentTypeOf(e)
    const starts = (bar: Bar) => {
      const input = bar.event.payload.tool_input
      if (input === null || typeof input !== 'object' || Array.isArray(input)) return false
      return type !== '' && input.subagent_type === type
    }
    // The hub uses the same heuristic: the oldest open call that has not started a subagent yet.
    const caller = [...this.openCalls].find((bar) => starts(bar) && !this.subagentStarters.has(bar))
    if (caller) this.subagentStarters.add(caller)
    return caller?.lane ?? this.lanesByAgent.get('') ?? this.laneFor({ ...e, agent_id: '', payload: {} }, at)
  }

  /** Starts turns, and ends agents and their calls, before the event itself is added. */
  private trackTurn(e: Event, at: number, lane: Lane): void {
    const type = e.hook_event_type
    const prompt = isPrompt(e) && lane.key === ''
    if (prompt || this.turns.length === 0) {
      const turn: Turn = {
        index: this.turns.length,
        start: at,
        end: at,
        prompt: undefined,
        calls: 0,
        failures: 0,
        waits: [],
      }
      this.turns.push(turn)
      this.rows.push({ turn, headingsBefore: this.turns.length - 1 })
    }
    this.turn.end = at
    if (type === 'SubagentStop') lane.end = at
    else lane.end = undefined
    if (type === 'SessionEnd') this.markLost(() => true, at)
    else if (prompt || type === 'Stop' || type === 'StopFailure' || type === 'SubagentStop')
      this.markLost((bar) => bar.lane === lane, at)
  }

  private get turn(): Turn {
    return this.turns[this.turns.length - 1] as Turn
  }

  /** Marks open calls as lost: their agent continued, so their end will not be reported. */
  private markLost(matches: (bar: Bar) => boolean, at: number): void {
    for (const bar of this.openCalls) {
      if (!matches(bar)) continue
      bar.end = at
      bar.state = 'lost'
      this.openCalls.delete(bar)
    }
  }

  private addBar(bar: Omit<Bar, 'index' | 'turn' | 'style' | 'tool'>, heading = false): Bar {
    const { event, lane, host } = bar
    const made: Bar = {
      ...bar,
      index: this.bars.length,
      turn: this.turn,
      style: eventStyle(event),
      tool: toolOf(event),
    }
    this.bars.push(made)
    lane.bars.push(made)
    for (const id of made.ids) if (!this.barsByEvent.has(id)) this.barsByEvent.set(id, made)
    if (host || heading) this.rowIndexes[made.index] = host ? this.row(host) : this.rows.length - 1
    else this.rowIndexes[made.index] = this.rows.push({ bar: made, headingsBefore: this.turns.length }) - 1
    return made
  }

  private beginCall(e: Event, at: number, lane: Lane): void {
    const id = toolUseIdOf(e)
    const known = id ? this.callsById.get(id) : undefined
    // If hooks are installed twice, every call is reported twice.
    if (known && this.openCalls.has(known)) return this.addToBar(known, e)
    const bar = this.addBar({
      kind: 'call',
      lane,
      start: at,
      end: undefined,
      state: 'running',
      ids: [e.id],
      event: e,
    })
    if (id) this.callsById.set(id, bar)
    bar.turn.calls++
    if (!isDeniedByHook(e)) return void this.openCalls.add(bar)
    // Agents report no end for a call that was not allowed.
    bar.end = at
    bar.state = 'denied'
  }

  private endCall(e: Event, at: number, role: HookRole): void {
    const id = toolUseIdOf(e)
    const lane = this.laneFor(e, at)
    const bar = id ? this.callsById.get(id) : this.matchByTool(lane, toolOf(e), e)
    const failed = role === 'failure' || (role === 'end' && e.error !== undefined && e.error !== '')
    const state = role === 'denial' ? 'denied' : failed ? 'failed' : 'ok'
    if (!bar) return this.addCallWithoutStart(e, at, state)
    this.addToBar(bar, e)
    if (this.completed.has(bar)) return
    this.completed.add(bar)
    this.openCalls.delete(bar)
    bar.end = at
    bar.state = state
    bar.event = e
    bar.style = eventStyle(e)
    if (failed) bar.turn.failures++
  }

  /** The open call that an end without an id belongs to: the oldest one of the tool, preferably with the same arguments. */
  private matchByTool(lane: Lane, tool: string | undefined, e: Event): Bar | undefined {
    const candidates = [...this.openCalls].filter(
      (b) => b.lane === lane && b.tool === tool && !toolUseIdOf(b.event),
    )
    const input = JSON.stringify(e.payload.tool_input)
    return candidates.find((b) => JSON.stringify(b.event.payload.tool_input) === input) ?? candidates[0]
  }

  /** Adds a call whose start was not reported. */
  private addCallWithoutStart(e: Event, at: number, state: State): void {
    const reported = e.payload.duration_ms
    const took = isNumber(reported) && reported > 0 ? Number(reported) : 0
    const start = Math.max(at - took, this.start)
    const lane = this.laneFor(e, at)
    const bar = this.addBar({
      kind: 'call',
      lane,
      start,
      end: at,
      state,
      ids: [e.id],
      event: e,
      startUnknown: true,
    })
    this.completed.add(bar)
    const id = toolUseIdOf(e)
    if (id) this.callsById.set(id, bar)
    bar.turn.calls++
    if (state === 'failed') bar.turn.failures++
  }

  private addToBar(bar: Bar, e: Event): void {
    bar.ids.push(e.id)
    this.barsByEvent.set(e.id, bar)
  }

  private addWait(e: Event, at: number, lane: Lane): void {
    const host = this.findHost(e, lane)
    const status = e.humanInTheLoopStatus
    const wait = this.addBar({
      kind: 'wait',
      lane,
      start: at,
      end: undefined,
      state: 'waiting',
      ids: [e.id],
      event: e,
      ...(host ? { host } : {}),
    })
    // If the event is both the start of a call and a question, its id refers to the question.
    this.barsByEvent.set(e.id, wait)
    if (host) (host.waits ??= []).push(wait)
    this.waits.push(wait)
    wait.turn.waits.push(wait)
    this.pendingWaits.set(e.id, wait)
    if (status) this.resolveWait(wait, status)
  }

  /** The call that a question blocks: by its id, else the newest with the same tool and arguments. */
  private findHost(e: Event, lane: Lane): Bar | undefined {
    const id = toolUseIdOf(e)
    const named = id ? this.callsById.get(id) : undefined
    if (named) return this.openCalls.has(named) ? named : undefined
    const tool = toolOf(e)
    if (!tool) return undefined
    const wanted = JSON.stringify(e.humanInTheLoop?.toolCall?.arguments ?? e.payload.tool_input)
    return [...this.openCalls]
      .filter((b) => b.lane === lane && b.tool === tool)
      .filter((b) => JSON.stringify(b.event.payload.tool_input) === wanted)
      .at(-1)
  }

  private resolveWait(wait: Bar, status: Status): void {
    this.waitStatuses.set(wait, status)
    wait.end = settledAt(status, wait.start)
    wait.state = waitState(status)
    if (wait.end === undefined) return
    for (const id of wait.ids) this.pendingWaits.delete(id)
    const { host } = wait
    const permission = wait.event.humanInTheLoop?.type === 'permission'
    // Agents report no end for a call that was not allowed.
    if (wait.state !== 'denied' && wait.state !== 'unanswered') return
    if (!host || !permission || this.completed.has(host)) return
    host.end = Math.max(host.start, wait.end)
    host.state = wait.state
    this.openCalls.delete(host)
  }

  private addMark(e: Event, at: number, lane: Lane): void {
    const state = eventStyle(e) === 'fail' ? 'failed' : 'plain'
    // The user's prompt is the heading of its turn, not a separate row.
    const heading = isPrompt(e) && lane.key === ''
    const bar = this.addBar({ kind: 'mark', lane, start: at, end: at, state, ids: [e.id], event: e }, heading)
    if (state === 'failed') bar.turn.failures++
    if (heading) bar.turn.prompt = bar
  }
}

/** The duration of a bar in ms, up to now if it has not ended. */
export const barDuration = (bar: Bar, now: number): number => Math.max(0, (bar.end ?? now) - bar.start)

/** The duration of a call in ms, without the time it waited for a person. */
export function runTime(bar: Bar, now: number): number {
  const end = bar.end ?? now
  return Math.max(0, barDuration(bar, now) - unionDuration(bar.waits ?? [], now, end))
}

/** The total time in ms with at least one wait. waits must be sorted by start. */
export function unionDuration(waits: readonly Bar[], now: number, until = Infinity): number {
  let sum = 0
  let reached = -Infinity
  for (const wait of waits) {
    const end = Math.min(wait.end ?? now, until)
    sum += Math.max(0, end - Math.max(wait.start, reached))
    reached = Math.max(reached, end)
  }
  return sum
}

/** The text of a bar in one line, as written by the agent: the question of a wait, or a summary. */
export function barLine(bar: Bar): string {
  const asString =
    (bar.kind === 'wait' ? bar.event.humanInTheLoop?.question : '') || summaryWithoutTool(bar.event)
  return asString.split('\n', 1)[0]?.slice(0, 400) ?? ''
}
