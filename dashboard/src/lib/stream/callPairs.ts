import { isNumber } from '../api/exactJson'
import type { Entry } from './eventView'

const KEPT = 5000

/** A key that the Pre and Post events of a call share; undefined without a tool use id. */
function callOf({ event }: Entry): string | undefined {
  const id = event.payload.tool_use_id
  return typeof id === 'string' && id ? `${event.source_app}\n${event.session_id}\n${id}` : undefined
}

/**
 * Measures tool calls: from PreToolUse to its result, without the time spent waiting for
 * a person.
 */
export class CallPairs {
  private readonly startedAt = new Map<string, number>() // call → time of its Pre event
  private readonly unmatchedEnds = new Map<string, Entry>() // call → its Post event, if that arrived first
  private readonly questions = new Map<string, Entry[]>() // call → its questions

  /** Adds an event, in any order: history arrives backwards. */
  add(entry: Entry): void {
    const type = entry.event.hook_event_type
    const asks = entry.event.humanInTheLoop !== undefined
    if (!asks && !type.endsWith('ToolUse') && type !== 'PostToolUseFailure') return
    const call = callOf(entry)
    if (!call) return
    if (asks) keep(this.questions, call, [...(this.questions.get(call) ?? []), entry])
    if (!type.endsWith('ToolUse') && type !== 'PostToolUseFailure') return
    if (type === 'PreToolUse') this.begin(call, entry)
    else this.end(call, entry)
  }

  private begin(call: string, entry: Entry): void {
    const post = this.unmatchedEnds.get(call)
    if (post) {
      post.durationMs = this.callDuration(call, entry.at, post)
      this.unmatchedEnds.delete(call)
    } else keep(this.startedAt, call, entry.at)
  }

  private end(call: string, entry: Entry): void {
    const at = this.startedAt.get(call)
    if (at !== undefined) {
      entry.durationMs = this.callDuration(call, at, entry)
      this.startedAt.delete(call)
    } else keep(this.unmatchedEnds, call, entry)
  }

  /** The duration without human waits; undefined if the time of an answer is unknown. */
  private callDuration(call: string, began: number, post: Entry): number | undefined {
    let parked = 0
    let reached = began
    const questions = (this.questions.get(call) ?? []).toSorted((a, b) => a.at - b.at)
    this.questions.delete(call)
    for (const question of questions) {
      const answered = question.event.humanInTheLoopStatus?.respondedAt
      if (answered === undefined || answered > post.at) {
        const said = post.event.payload.duration_ms
        return isNumber(said) && said >= 0 ? Number(said) : undefined
      }
      parked += Math.max(0, answered - Math.max(question.at, reached))
      reached = Math.max(reached, answered)
    }
    return Math.max(0, post.at - began - parked)
  }
}

/** Sets a map entry and evicts the oldest one above the limit. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size <= KEPT) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
