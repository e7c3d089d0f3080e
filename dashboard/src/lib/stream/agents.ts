import { receivedAt, isTelemetry } from './eventView'
import type { Event } from '../api/types'

/** The application of the hub's own test requests. */
export const TEST_APP = 'hookback-test'

/** The state of an agent, derived from its events. */
export type AgentState = 'needs-you' | 'undelivered' | 'working' | 'idle' | 'ended'

export interface Agent {
  readonly name: string
  lastSeen: number
  ended: boolean
}

/** Tracks the last event of every agent. */
export class AgentRegistry {
  private readonly byName = new Map<string, Agent>()

  observe(e: Event): void {
    if (e.source_app === TEST_APP) return // no agent
    const ended = e.hook_event_type === 'SessionEnd'
    const at = receivedAt(e)
    const known = this.byName.get(e.source_app)
    if (!known) {
      this.byName.set(e.source_app, { name: e.source_app, lastSeen: at, ended })
    } else if (at >= known.lastSeen && !isTelemetry(e)) {
      known.lastSeen = at
      known.ended = ended
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

/** The state of an agent, given its open requests and undelivered answers. */
export function agentState(
  agent: Agent,
  now: number,
  waiting: { asks: boolean; undelivered: boolean },
): AgentState {
  if (waiting.asks) return 'needs-you'
  if (waiting.undelivered) return 'undelivered'
  if (agent.ended) return 'ended'
  return now - agent.lastSeen < 60_000 ? 'working' : 'idle'
}
