import { toJson } from '../api/exactJson'
import type { Event } from '../api/types'

const hubFields = new Set(['id', 'uid', 'humanInTheLoopStatus', 'payloadTruncated', 'payloadBytes', 'chat'])

/** A curl command that posts the event again, without the members that the hub adds. */
export function toCurl(event: Event, origin: string): string {
  const body = Object.fromEntries(Object.entries(event).filter(([name]) => !hubFields.has(name)))
  const json = toJson(body).replaceAll("'", `'\\''`)
  return `curl -s ${origin}/events -H 'Content-Type: application/json' -d '${json}'`
}
