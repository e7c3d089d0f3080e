import type { Entry } from '../eventView'

const KEPT = 5000

/** The call an event is about: a name that its Pre and its Post share. */
function callOf({ event }: Entry): string | undefined {
  const id = event.payload.tool_use_id
  return typeof id === 'string' && id ? `${event.source_app}\n${event.session_id}\n${id}` : undefined
}

/**
 * How long tool calls took: from PreToolUse to what came of it, without the time a
 * person was waited for.
 */
export class CallPairs {
  private readonly startedAt = new Map<string, number>() // call → when its Pre came
  private readonly unmatchedEnds = new Map<string, Entry>() // call → its Post, when that was seen first
  private readonly questions = new Map<string, Entry[]>() // call → the questions about it

  /** Takes an event, in whatever order: history arrives backwards. */
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

  /** The call's own time; undefined where nobody knows when a person let it go. */
  private callDuration(call: string, began: number, post: Entry): number | undefined {
    let parked = 0
    let reached = began
    const questions = (this.questions.get(call) ?? []).toSorted((a, b) => a.at - b.at)
    this.questions.delete(call)
    for (const question of questions) {
      const answered = question.event.humanInTheLoopStatus?.respondedAt
      if (answered === undefined || answered > post.at) {
        const said = post.event.payload.duration_ms
        return typeof said === 'number' && said >= 0 ? said : undefined
      }
      parked += Math.max(0, answered - Math.max(question.at, reached))
      reached = Math.max(reached, answered)
    }
    return Math.max(0, post.at - began - parked)
  }
}

/** Puts a value into a map that lets go of its oldest. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value)
  if (map.size <= KEPT) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
