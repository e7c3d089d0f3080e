import {
  receivedAt,
  mainArgument,
  isPrompt,
  isTelemetry,
  summaryWithoutTool,
  eventStyle,
  type EventStyle,
} from '../eventView'
import { toolOf } from '../filter'
import { isNewer } from '../requests'
import type { Event, Json, Status } from '../types'

// A session's events, put together into what a person sees: one bar for each tool
// call from its PreToolUse to its PostToolUse, one for each wait for a human, a mark
// for everything else; a lane for each (sub)agent; a turn for each prompt. Events
// come in the order of the hub's log, one after the other; what an agent says about
// time is not looked at.

export type State =
  | 'running' // a call whose end is not there yet
  | 'ok'
  | 'failed'
  | 'denied' // a person said no, or a rule did
  | 'lost' // the agent went on without ever telling how it ended
  | 'waiting' // for a human, now
  | 'answered'
  | 'unanswered' // timed out, cancelled
  | 'plain' // a mark

/** Something that an agent did, from its begin to its end. A mark has no length. */
export interface Bar {
  readonly kind: 'call' | 'wait' | 'mark'
  /** Its place among all bars, in the order of the log. */
  readonly index: number
  readonly lane: Lane
  readonly turn: Turn
  /** Where it stands in its lane when calls overlap, from 0. */
  track: number
  start: number
  /** Undefined: it goes on. */
  end: number | undefined
  state: State
  style: EventStyle
  tool: string | undefined
  /** The events it is made of; the first gives it its link. */
  readonly ids: number[]
  /** The event that says most: a call's end, once it is there. */
  event: Event
  /** The call that a wait holds up. */
  host?: Bar
  /** The waits that held a call up. */
  waits?: Bar[]
  /** A call whose begin was never told: its start is what its end says, or the same. */
  startUnknown?: boolean
}

/** One (sub)agent. */
export interface Lane {
  readonly key: string
  readonly name: string
  readonly parent: Lane | undefined
  readonly depth: number
  readonly start: number
  /** When the subagent ended. */
  end: number | undefined
  /** Calls and waits that don't overlap, oldest first; a wait within a call is the call's. */
  readonly tracks: Bar[][]
  readonly marks: Bar[]
  /** Everything in it, in the order of the log. */
  readonly bars: Bar[]
}

/** What a prompt led to. */
export interface Turn {
  readonly index: number
  readonly start: number
  end: number
  /** Absent for what comes before the first prompt. */
  prompt: Bar | undefined
  calls: number
  failures: number
  readonly waits: Bar[]
}

/** A line of the list: a turn's heading or a bar. */
export type Row =
  { turn: Turn; bar?: undefined; heads: number } | { bar: Bar; turn?: undefined; heads: number }

const MAX_TRACKS = 8

type Role = 'begin' | 'end' | 'failure' | 'denial' | 'other'

// Hooks of other agents than Claude Code come under their own names.
const roles: Record<string, Role> = {
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

const roleOf = (e: Event): Role => roles[e.hook_event_type.toLowerCase()] ?? 'other'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const agentOf = (e: Event): string =>
  (e.agent_id ?? text(e.payload.agent_id)) || text(e.payload.teammate_name)
const typeOf = (e: Event): string => e.agent_type ?? text(e.payload.agent_type)
const callOf = (e: Event): string =>
  (e.tool_use_id ?? text(e.payload.tool_use_id)) || (e.humanInTheLoop?.toolCall?.id ?? '')
const asks = (e: Event): boolean =>
  e.humanInTheLoop !== undefined && e.humanInTheLoop.requiresResponse !== false

/** When a wait ended, the hub's clock; undefined: it has not. */
function settledAt(status: Status | undefined, asked: number): number | undefined {
  if (!status || status.status === 'pending') return undefined
  const at = status.respondedAt ?? status.response?.respondedAt ?? status.expiresAt ?? asked
  return Math.max(asked, at)
}

function verdict(status: Status | undefined): State {
  if (!status || status.status === 'pending') return 'waiting'
  if (status.outcome === 'deny' || status.response?.permission === false) return 'denied'
  return status.status === 'responded' ? 'answered' : 'unanswered'
}

export class Session {
  /** Grows with every change. */
  version = 0
  /** The newest event in it. */
  lastId = 0
  readonly bars: Bar[] = []
  readonly turns: Turn[] = []
  readonly rows: Row[] = []
  /** Parents before their children. */
  readonly lanes: Lane[] = []
  readonly waits: Bar[] = []
  start = 0
  /** When its newest event came, the hub's clock. */
  last = 0
  /** How many events it is made of. */
  events = 0
  /** The coding agent whose hooks tell of it; empty: none that is known. */
  codingAgent = ''

  private readonly laneOf = new Map<string, Lane>() // agent id → lane
  private readonly barOf = new Map<number, Bar>() // event id → bar
  private readonly rowOf: number[] = [] // bar index → row
  private readonly calls = new Map<string, Bar>() // tool use id → its latest call
  private readonly open = new Set<Bar>() // calls that go on
  private readonly completed = new Set<Bar>() // calls whose end was told
  private readonly starters = new Set<Bar>() // calls that are taken to have started a subagent
  private readonly pending = new Map<number, Bar>() // event id → wait
  private readonly statuses = new Map<Bar, Status>()

  /** Takes the next event of the log; one that it has, or that came before, is left out. */
  addEvent(e: Event): void {
    if (e.id <= this.lastId) return
    this.lastId = e.id
    if (e.agent) this.codingAgent = e.agent
    if (isTelemetry(e)) {
      this.events++ // it is in the sums; what it tells of has its place already
      this.version++
      return
    }
    // The hub's clock may be set back; its log never goes back.
    const at = Math.max(this.last, receivedAt(e))
    if (this.start === 0) this.start = at
    this.events++
    this.last = at
    const lane = this.lane(e, at)
    this.trackTurn(e, at, lane)
    const role = roleOf(e)
    if (role === 'begin') this.beginCall(e, at, lane)
    else if (role !== 'other') this.endCall(e, at, role)
    if (asks(e)) this.addWait(e, at, lane)
    else if (role === 'other') this.addMark(e, at, lane)
    this.version++
  }

  /** Takes over how a question stands now. */
  status(id: number, status: Status): void {
    const wait = this.pending.get(id)
    if (!wait || !isNewer(status, this.statuses.get(wait) ?? { status: 'pending' })) return
    this.resolveWait(wait, status)
    this.version++
  }

  /** The questions that wait for a human. */
  get pendingQuestions(): Iterable<number> {
    return this.pending.keys()
  }

  /** Whether something goes on, so that it grows with time. */
  get busy(): boolean {
    return this.open.size > 0 || this.pending.size > 0
  }

  bar(id: number): Bar | undefined {
    return this.barOf.get(id)
  }

  statusOf(wait: Bar): Status | undefined {
    return this.statuses.get(wait)
  }

  /** The place of a bar in the list. */
  row(bar: Bar): number {
    return this.rowOf[bar.index] ?? -1
  }

  /** When it ends: now, while something goes on. */
  end(now: number): number {
    return this.busy ? Math.max(now, this.last) : this.last
  }

  private lane(e: Event, at: number): Lane {
    const key = agentOf(e)
    const known = this.laneOf.get(key)
    if (known) return known
    const parent = key === '' ? undefined : this.parentOf(e, at)
    const type = typeOf(e) || key.slice(0, 8)
    const same = this.lanes.filter((l) => l.key !== '' && l.name.replace(/ \d+$/, '') === type).length
    const lane: Lane = {
      key,
      name: key === '' ? 'main' : same > 0 ? `${type} ${same + 1}` : type,
      parent,
      depth: parent ? parent.depth + (parent.key === '' ? 0 : 1) : 0,
      start: at,
      end: undefined,
      tracks: [],
      marks: [],
      bars: [],
    }
    this.laneOf.set(key, lane)
    this.lanes.splice(this.placeOf(parent), 0, lane)
    return lane
  }

  /** Behind the parent and all that came from it; the main lane stands first. */
  private placeOf(parent: Lane | undefined): number {
    if (!parent) return 0
    let i = this.lanes.indexOf(parent) + 1
    const within = (lane: Lane | undefined): boolean =>
      lane !== undefined && (lane === parent || within(lane.parent))
    while (i < this.lanes.length && within(this.lanes[i]?.parent)) i++
    return i
  }

  /** Who started a subagent: who says so, else who runs a call that asks for one of its type. */
  private parentOf(e: Event, at: number): Lane {
    const said = text(e.payload.parent_agent_id)
    const named = said ? this.laneOf.get(said) : undefined
    if (named) return named
    const type = typeOf(e)
    const starts = (bar: Bar) => {
      const input = bar.event.payload.tool_input
      if (input === null || typeof input !== 'object' || Array.isArray(input)) return false
      return type !== '' && input.subagent_type === type
    }
    // The hub guesses so, too: the oldest that has started none.
    const caller = [...this.open].find((bar) => starts(bar) && !this.starters.has(bar))
    if (caller) this.starters.add(caller)
    return caller?.lane ?? this.laneOf.get('') ?? this.lane({ ...e, agent_id: '', payload: {} }, at)
  }

  /** Keeps turns and the ends of agents, before the event itself is taken. */
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
      this.rows.push({ turn, heads: this.turns.length - 1 })
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

  /** Whoever ran these calls went on: how they ended nobody tells any more. */
  private markLost(which: (bar: Bar) => boolean, at: number): void {
    for (const bar of this.open) {
      if (!which(bar)) continue
      bar.end = at
      bar.state = 'lost'
      this.open.delete(bar)
    }
  }

  private add(bar: Omit<Bar, 'index' | 'turn' | 'track' | 'style' | 'tool'>, heading = false): Bar {
    const { event, lane } = bar
    const made: Bar = {
      ...bar,
      index: this.bars.length,
      turn: this.turn,
      track: 0,
      style: eventStyle(event),
      tool: toolOf(event),
    }
    this.bars.push(made)
    lane.bars.push(made)
    for (const id of made.ids) if (!this.barOf.has(id)) this.barOf.set(id, made)
    this.rowOf[made.index] = heading ? this.rows.length - 1 : this.rows.length
    if (!heading) this.rows.push({ bar: made, heads: this.turns.length })
    if (made.kind === 'mark') lane.marks.push(made)
    else if (!made.host) this.assignTrack(made)
    return made
  }

  /** Finds a track where it fits behind what is there. */
  private assignTrack(bar: Bar): void {
    const { tracks } = bar.lane
    const free = tracks.findIndex((track) => {
      const last = track[track.length - 1]
      return last?.end !== undefined && last.end <= bar.start
    })
    bar.track = free >= 0 ? free : Math.min(tracks.length, MAX_TRACKS - 1)
    ;(tracks[bar.track] ??= []).push(bar)
  }

  private beginCall(e: Event, at: number, lane: Lane): void {
    const id = callOf(e)
    const known = id ? this.calls.get(id) : undefined
    // Two installed hooks tell every call twice.
    if (known && this.open.has(known)) return this.addToBar(known, e)
    const bar = this.add({
      kind: 'call',
      lane,
      start: at,
      end: undefined,
      state: 'running',
      ids: [e.id],
      event: e,
    })
    this.open.add(bar)
    if (id) this.calls.set(id, bar)
    bar.turn.calls++
  }

  private endCall(e: Event, at: number, role: Role): void {
    const id = callOf(e)
    const lane = this.lane(e, at)
    const bar = id ? this.calls.get(id) : this.matchByTool(lane, toolOf(e), e)
    const failed = role === 'failure' || (role === 'end' && e.error !== undefined && e.error !== '')
    const state = role === 'denial' ? 'denied' : failed ? 'failed' : 'ok'
    if (!bar) return this.startUnknown(e, at, state)
    this.addToBar(bar, e)
    if (this.completed.has(bar)) return
    this.completed.add(bar)
    this.open.delete(bar)
    bar.end = at
    bar.state = state
    bar.event = e
    bar.style = eventStyle(e)
    if (failed) bar.turn.failures++
  }

  /** A call without an id ends the oldest one of its tool that goes on, best with the same arguments. */
  private matchByTool(lane: Lane, tool: string | undefined, e: Event): Bar | undefined {
    const those = [...this.open].filter((b) => b.lane === lane && b.tool === tool && !callOf(b.event))
    const gist = mainArgument(e.payload.tool_input)
    return those.find((b) => mainArgument(b.event.payload.tool_input) === gist) ?? those[0]
  }

  /** An end whose begin was never told. */
  private startUnknown(e: Event, at: number, state: State): void {
    const said = e.payload.duration_ms
    const took = typeof said === 'number' && said > 0 ? said : 0
    const start = Math.max(at - took, this.start)
    const lane = this.lane(e, at)
    const bar = this.add({
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
    const id = callOf(e)
    if (id) this.calls.set(id, bar)
    bar.turn.calls++
    if (state === 'failed') bar.turn.failures++
  }

  private addToBar(bar: Bar, e: Event): void {
    bar.ids.push(e.id)
    this.barOf.set(e.id, bar)
  }

  private addWait(e: Event, at: number, lane: Lane): void {
    const host = this.hostOf(e, lane)
    const status = e.humanInTheLoopStatus
    const wait = this.add({
      kind: 'wait',
      lane,
      start: at,
      end: undefined,
      state: 'waiting',
      ids: [e.id],
      event: e,
      ...(host ? { host } : {}),
    })
    // A hook that asks before the call: the link to the event is the question's.
    this.barOf.set(e.id, wait)
    if (host) (host.waits ??= []).push(wait)
    this.waits.push(wait)
    wait.turn.waits.push(wait)
    this.pending.set(e.id, wait)
    if (status) this.resolveWait(wait, status)
  }

  /** The call a question is about: named by its id, else the newest with the same tool and arguments. */
  private hostOf(e: Event, lane: Lane): Bar | undefined {
    const id = callOf(e)
    const named = id ? this.calls.get(id) : undefined
    if (named) return this.open.has(named) ? named : undefined
    const tool = toolOf(e)
    if (!tool) return undefined
    const wanted = JSON.stringify(e.humanInTheLoop?.toolCall?.arguments ?? e.payload.tool_input)
    return [...this.open]
      .filter((b) => b.lane === lane && b.tool === tool)
      .filter((b) => JSON.stringify(b.event.payload.tool_input) === wanted)
      .at(-1)
  }

  private resolveWait(wait: Bar, status: Status): void {
    this.statuses.set(wait, status)
    wait.end = settledAt(status, wait.start)
    wait.state = verdict(status)
    if (wait.end === undefined) return
    for (const id of wait.ids) this.pending.delete(id)
    const { host } = wait
    const refused = wait.state === 'denied' || wait.state === 'unanswered'
    const permission = wait.event.humanInTheLoop?.type === 'permission'
    // Agents tell nothing more of a call that was not allowed.
    if (!host || !refused || !permission || this.completed.has(host)) return
    host.end = Math.max(host.start, wait.end)
    host.state = 'denied'
    this.open.delete(host)
  }

  private addMark(e: Event, at: number, lane: Lane): void {
    const state = eventStyle(e) === 'fail' ? 'failed' : 'plain'
    // The prompt of the person is its turn's heading, not a line of its own below.
    const heading = isPrompt(e) && lane.key === ''
    const bar = this.add({ kind: 'mark', lane, start: at, end: at, state, ids: [e.id], event: e }, heading)
    if (state === 'failed') bar.turn.failures++
    if (heading) bar.turn.prompt = bar
  }
}

/** How long a bar lasted, up to now. */
export const barDuration = (bar: Bar, now: number): number => Math.max(0, (bar.end ?? now) - bar.start)

/** How long a call itself took: without the time it waited for a human. */
export function runTime(bar: Bar, now: number): number {
  const end = bar.end ?? now
  return Math.max(0, barDuration(bar, now) - unionDuration(bar.waits ?? [], now, end))
}

/** How long at least one of the waits went on; waits are in the order of their begin. */
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

/** What a bar is about, in one line; agents wrote it. Of a wait it is the question. */
export function barLine(bar: Bar): string {
  const text =
    (bar.kind === 'wait' ? bar.event.humanInTheLoop?.question : '') || summaryWithoutTool(bar.event)
  return text.split('\n', 1)[0]?.slice(0, 400) ?? ''
}
