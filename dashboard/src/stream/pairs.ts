import type { Entry } from '../events'

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
export class Pairs {
  private readonly began = new Map<string, number>() // call → when its Pre came
  private readonly ended = new Map<string, Entry>() // call → its Post, when that was seen first
  private readonly asking = new Map<string, Entry[]>() // call → the questions about it

  /** Takes an event, in whatever order: history arrives backwards. */
  see(entry: Entry): void {
    const type = entry.event.hook_event_type
    const asks = entry.event.humanInTheLoop !== undefined
    if (!asks && !type.endsWith('ToolUse') && type !== 'PostToolUseFailure') return
    const call = callOf(entry)
    if (!call) return
    if (asks) keep(this.asking, call, [...(this.asking.get(call) ?? []), entry])
    if (!type.endsWith('ToolUse') && type !== 'PostToolUseFailure') return
    if (type === 'PreToolUse') this.begin(call, entry)
    else this.end(call, entry)
  }

  private begin(call: string, entry: Entry): void {
    const post = this.ended.get(call)
    if (post) {
      post.took = this.took(call, entry.at, post)
      this.ended.delete(call)
    } else keep(this.began, call, entry.at)
  }

  private end(call: string, entry: Entry): void {
    const at = this.began.get(call)
    if (at !== undefined) {
      entry.took = this.took(call, at, entry)
      this.began.delete(call)
    } else keep(this.ended, call, entry)
  }

  /** The call's own time; undefined where nobody knows when a person let it go. */
  private took(call: string, began: number, post: Entry): number | undefined {
    let parked = 0
    let reached = began
    const questions = (this.asking.get(call) ?? []).toSorted((a, b) => a.at - b.at)
    this.asking.delete(call)
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
