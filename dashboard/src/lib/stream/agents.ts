import { isImport, isTelemetry, receivedAt } from './eventView'
import type { Freeze, NowLane } from '../api/schema'
import type { Event } from '../api/types'
import { freezeOf } from './freezes'
import { needsAnswer, type Lists, type Request } from './requests'

/** The application of the hub's own test requests. */
export const TEST_APP = 'hookback-test'

/** The state of an agent. */
export type AgentState =
  | 'needs-you'
  | 'undelivered'
  | 'failing'
  | 'terminal'
  | 'working'
  | 'turn-ended'
  | 'idle'
  | 'frozen'
  | 'gone'
  | 'ended'

export interface Agent {
  readonly name: string
  lastSeen: number
  ended: boolean
  /** The session of its last event. */
  session: string
  phase?: TurnPhase
}

/** What the last events of a session report about its turn; undefined while the agent works. */
export type TurnPhase = NowLane['phase']

/** The phase of a session before its first event: a program that only asks reports no work. */
export const firstPhase = (e: Event): TurnPhase =>
  e.hook_event_type === 'DecisionPoint' ? 'no_turn' : undefined

/** The phase after an event. The hub's package now follows the same events, and the ends of requests. */
export function turnPhase(phase: TurnPhase, e: Event): TurnPhase {
  const members = e as unknown as Record<string, unknown>
  const text = (name: string) => (members[name] ?? e.payload[name] ?? '') as string
  switch (e.hook_event_type.toLowerCase()) {
    case 'pretooluse':
    case 'beforetool':
    case 'posttooluse':
    case 'posttoolusefailure':
    case 'aftertool':
    case 'userpromptsubmit':
    case 'beforesubmitprompt':
    case 'subagentstart':
    case 'sessionend':
      return undefined
    case 'stop':
    case 'stopfailure':
    case 'interrupt':
      return text('agent_id') ? phase : 'turn_ended'
    case 'sessionstart':
      return text('source') === 'compact' ? phase : 'no_turn'
    case 'permissionrequest':
    case 'elicitation': {
      const verdict = (members.hook as { verdict?: unknown } | undefined)?.verdict
      return e.humanInTheLoop || verdict === 'allow' || verdict === 'deny' ? undefined : 'terminal'
    }
    case 'notification': {
      const kind = String(text('notification_type') || text('message')).toLowerCase()
      if (/idle|waiting for your input/.test(kind)) return 'turn_ended'
      return /permission|elicitation_dialog/.test(kind) ? 'terminal' : phase
    }
    default:
      return phase
  }
}

/** Tracks the last event of every agent. */
export class AgentRegistry {
  private readonly byName = new Map<string, Agent>()

  observe(e: Event): void {
    if (e.source_app === TEST_APP) return // no agent
    const ended = e.hook_event_type === 'SessionEnd' || isImport(e)
    const at = isImport(e) ? (e.timestamp ?? 0) : receivedAt(e)
    const known = this.byName.get(e.source_app)
    if (!known) {
      this.byName.set(e.source_app, {
        name: e.source_app,
        lastSeen: at,
        ended,
        session: e.session_id,
        phase: turnPhase(firstPhase(e), e),
      })
    } else if (at >= known.lastSeen && !isTelemetry(e)) {
      known.lastSeen = at
      known.ended = ended
      known.phase = turnPhase(known.session === e.session_id ? known.phase : firstPhase(e), e)
      known.session = e.session_id
    }
  }

  clear(): void {
    this.byName.clear()
  }

  /** All agents, sorted by name for a stable order. */
  all(): Agent[] {
    return [...this.byName.values()].sort((a, b) => a.name.localeCompare(b.name))
  }
}

/** How long after its last event an agent counts as working, ms. */
const WORKING_FOR = 60_000
/** How long a tool call without further events counts as work, ms. */
const MAX_CALL = 600_000

/** What is known about an agent: of an application, a session or a part of one. */
export interface AgentFacts {
  /** The time of its last event. */
  lastAt: number
  ended?: boolean
  /** A request of it needs the user. */
  asks?: boolean
  /** An answer was not delivered to it. */
  undelivered?: boolean
  /** It waits for other people than the user. */
  waits?: boolean
  /** When it asked the newest request for whose answer it no longer listens. */
  lostAt?: number
  /** A freeze stops it. */
  frozen?: boolean
  /** Its last tool calls failed. */
  failing?: boolean
  /** A tool call runs. */
  running?: boolean
  phase?: TurnPhase
}

/** The state of an agent on every screen. The hub's package now has the same order. */
export function agentState(facts: AgentFacts, now: number): AgentState {
  const quiet = now - facts.lastAt
  if (facts.asks) return 'needs-you'
  if (facts.undelivered) return 'undelivered'
  if (facts.waits) return 'idle'
  if (facts.frozen && !facts.ended) return 'frozen'
  if (facts.lostAt !== undefined && facts.lostAt >= facts.lastAt) return 'gone'
  if (facts.ended) return 'ended'
  if (facts.failing) return 'failing'
  if (facts.phase === 'terminal') return 'terminal'
  if (facts.phase) return facts.phase === 'turn_ended' ? 'turn-ended' : 'idle'
  return quiet < WORKING_FOR || (facts.running && quiet < MAX_CALL) ? 'working' : 'idle'
}

/** What the requests of an application or a session say about its agent. */
export interface AgentRequests {
  /** The oldest request that needs the user. */
  asks?: Request
  /** How many requests need the user, as the inbox counts them. */
  needs?: number
  undelivered?: Request
  /** When the oldest request that an agent waits for was asked, whoever answers it. */
  waitsSince?: number
  lostAt?: number
}

const noRequests: AgentRequests = {}

/** The requests of agents, by application and by session. */
export class RequestIndex {
  private readonly byKey = new Map<string, AgentRequests>()

  constructor(lists: Lists) {
    const waits = (r: Request, found: AgentRequests) => {
      if (needsAnswer(r)) found.waitsSince = Math.min(found.waitsSince ?? Infinity, r.askedAt)
    }
    this.each(lists.needs, (r, found) => {
      found.asks ??= r
      if (needsAnswer(r)) found.needs = (found.needs ?? 0) + 1
      waits(r, found)
    })
    this.each([...lists.votes, ...lists.snoozed], waits)
    this.each(lists.undelivered, (r, found) => (found.undelivered ??= r))
    this.each(lists.gone, (r, found) => (found.lostAt = Math.max(found.lostAt ?? 0, r.askedAt)))
  }

  of(app: string, session = ''): AgentRequests {
    return this.byKey.get(keyOf(app, session)) ?? noRequests
  }

  private each(requests: Request[], add: (r: Request, found: AgentRequests) => void): void {
    for (const r of requests)
      for (const session of ['', r.event.session_id]) {
        const key = keyOf(r.event.source_app, session)
        const found = this.byKey.get(key) ?? {}
        add(r, found)
        this.byKey.set(key, found)
      }
  }
}

const keyOf = (app: string, session: string) => JSON.stringify([app, session])

const indexes = new WeakMap<Lists, RequestIndex>()

/** The index of these lists, made once. */
export function requestIndex(lists: Lists): RequestIndex {
  let index = indexes.get(lists)
  if (!index) indexes.set(lists, (index = new RequestIndex(lists)))
  return index
}

/** The state of an application's agent. */
export function appState(
  agent: Agent,
  lists: Lists,
  now: number,
  freezes: readonly Freeze[] = [],
): AgentState {
  const { asks, undelivered, lostAt } = requestIndex(lists).of(agent.name)
  return agentState(
    {
      lastAt: agent.lastSeen,
      ended: agent.ended,
      asks: !!asks,
      undelivered: !!undelivered,
      lostAt,
      phase: agent.phase,
      frozen: !!freezeOf(freezes, { source_app: agent.name, session_id: agent.session }),
    },
    now,
  )
}
