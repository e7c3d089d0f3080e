import type { Event } from '../../lib/api/types'
import { TEST_APP } from '../../lib/stream/agents'

/** The newest event of an app. events are newest first. */
export function newestOf(events: Iterable<{ event: Event }>, app: string): Event | undefined {
  for (const { event } of events) if (event.source_app === app) return event
  return undefined
}

/** The newest question except test requests. events are newest first. */
export function newestUserQuestion(events: Iterable<{ event: Event }>): Event | undefined {
  for (const { event } of events) if (event.humanInTheLoop && event.source_app !== TEST_APP) return event
  return undefined
}
