import type { Event } from '../api/types'

/** The tool name of an event, wherever its client put it. */
export function toolOf(e: Event): string | undefined {
  if (e.tool_name) return e.tool_name
  if (e.humanInTheLoop?.toolCall?.name) return e.humanInTheLoop.toolCall.name
  const name = e.payload.tool_name
  return typeof name === 'string' ? name : undefined
}
