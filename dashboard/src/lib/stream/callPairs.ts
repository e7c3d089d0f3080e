import { isNumber } from '../api/exactJson'
import type { Entry } from './eventView'

const KEPT = 5000

/** A key that the Pre and Post events of a call share; undefined without a tool use id. */
function callOf({ event }: Entry): string | undefined {
  const id = event.tool_use_id ?? event.payload.tool_use_id
  return typeof id === 'string' && id ? `${event.source_app}\n${event.session_id}\n${id}` : undefined
}

const isStart = ({ event }: Entry): boolean => event.hook_event_type === 'PreToolUse'

/**
 * Joins the start and the end of tool calls, and measures the calls without the time spent waiting
 * for a person.
 */
export class CallPairs {
  private readonly halves = new Map<string, Entry>() // call → its Pre or Post event, without the other
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
    const other = this.halves.get(call)
    if (!other || isStart(other) === isStart(entry)) return keep(this.halves, call, entry)
    this.halves.delete(call)
    entry.other = other
    other.other = entry
    const [start, end] = isStart(entry) ? [entry, other] : [other, entry]
    end.durationMs = this.callDuration(call, start.at, end)
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
