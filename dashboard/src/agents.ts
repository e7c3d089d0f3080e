import { receivedAt, isTelemetry } from './eventView'
import type { Event } from './types'

/** What an agent is doing, as far as its events tell. */
export type AgentState = 'needs-you' | 'undelivered' | 'working' | 'idle' | 'ended'

export interface Agent {
  readonly name: string
  lastSeen: number
  ended: boolean
}

/** Keeps what was last heard of every agent. */
export class AgentRegistry {
  private readonly byName = new Map<string, Agent>()

  observe(e: Event): void {
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

  /** By name, so that nobody moves while one looks. */
  all(): Agent[] {
    return [...this.byName.values()].sort((a, b) => a.name.localeCompare(b.name))
  }
}

/** The state of an agent, given whether something of its waits for a person. */
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
