import type { CallView } from '../lib/api/schema'
import type { Event, HumanInTheLoop, Status } from '../lib/api/types'

/** An event as sent by the hub. */
export function anEvent(id: number, more: Partial<Event> = {}): Event {
  return {
    id,
    source_app: 'api',
    session_id: 's1',
    hook_event_type: 'PreToolUse',
    payload: {},
    timestamp: 1_700_000_000_000 + id,
    ...more,
  }
}

/** An event with a pending question. */
export function aRequest(
  id: number,
  question: Partial<HumanInTheLoop> = {},
  status: Partial<Status> = {},
): Event {
  return anEvent(id, {
    hook_event_type: 'PermissionRequest',
    humanInTheLoop: { type: 'permission', question: 'May I?', ...question },
    humanInTheLoopStatus: { status: 'pending', revision: 1, ...status },
  })
}

/** The hub's reading of a call with a command line in its argument command. */
export const commandView: CallView = { lines: [{ at: '/command', shell: 'sh' }] }

/** The hub's reading of a call that writes the file in an argument. */
export const fileView = (name: string, path = '/w/a'): CallView => ({
  files: [{ at: '/' + name, path, op: 'write' }],
})

/** A promise with its resolve and reject functions. */
export function deferred<T>() {
  let resolve!: (value: T) => void
  let reject!: (error: unknown) => void
  const promise = new Promise<T>((ok, no) => ([resolve, reject] = [ok, no]))
  return { promise, resolve, reject }
}
