import type { Entry } from '../events'

const KEPT = 5000

/** The call an event is about: a name that its Pre and its Post share. */
function callOf({ event }: Entry): string | undefined {
  const id = event.payload.tool_use_id
  return typeof id === 'string' && id ? `${event.source_app}\n${event.session_id}\n${id}` : undefined
}

/** How long tool calls took: from PreToolUse to what came of it. */
export class Pairs {
  private readonly began = new Map<string, number>() // call → when its Pre came
  private readonly ended = new Map<string, Entry>() // call → its Post, when that was seen first

  /** Takes an event, in whatever order: history arrives backwards. */
  see(entry: Entry): void {
    const type = entry.event.hook_event_type
    if (!type.endsWith('ToolUse') && type !== 'PostToolUseFailure') return
    const call = callOf(entry)
    if (!call) return
    if (type === 'PreToolUse') this.begin(call, entry)
    else this.end(call, entry)
  }

  private begin(call: string, entry: Entry): void {
    const post = this.ended.get(call)
    if (post) {
      post.took = Math.max(0, post.at - entry.at)
      this.ended.delete(call)
    } else keep(this.began, call, entry.at)
  }

  private end(call: string, entry: Entry): void {
    const at = this.began.get(call)
    if (at !== undefined) {
      entry.took = Math.max(0, entry.at - at)
      this.began.delete(call)
    } else keep(this.ended, call, entry)
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
