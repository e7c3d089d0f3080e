import { streamText } from './text'

const copy = streamText.range

/** A time range by the hub's clock. Without any bound it is all time. */
export interface TimeRange {
  /** Relative range: the last so many ms. */
  readonly since?: number
  /** Unix ms, inclusive. */
  readonly from?: number
  /** Unix ms, exclusive. */
  readonly to?: number
}

export const spans = ['5m', '15m', '1h', '24h', '7d'] as const
export type Span = (typeof spans)[number]

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses the range of a URL query: since=15m, or from= and to= in ISO 8601 or Unix ms. */
export function parseRange(query: URLSearchParams): TimeRange {
  const [, n, unit] = /^(\d{1,4})([smhd])$/.exec(query.get('since') ?? '') ?? []
  if (Number(n) > 0 && unit) return { since: Number(n) * (units[unit] ?? 0) }
  return { from: timeOf(query.get('from')), to: timeOf(query.get('to')) }
}

function timeOf(text: string | null): number | undefined {
  if (!text) return undefined
  const ms = /^\d{10,15}$/.test(text) ? Number(text) : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** Whether the range has any bound. */
export const isLimited = (r: TimeRange): boolean =>
  r.since !== undefined || r.from !== undefined || r.to !== undefined

/** The start of the range as of now; -Infinity if it is unbounded. */
export const rangeStart = (r: TimeRange, now: number): number =>
  r.since === undefined ? (r.from ?? -Infinity) : now - r.since

const moment = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})
const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** "12:04:31", with the day if it is not today. */
export function shortTime(ms: number, now: number): string {
  const sameDay = new Date(ms).toDateString() === new Date(now).toDateString()
  return (sameDay ? clock : moment).format(ms)
}

/** The label of a range: "last 15 minutes", "12:04:00 to 12:09:00". */
export function rangeLabel(r: TimeRange, now: number): string {
  if (r.since !== undefined) {
    const unit = (['d', 'h', 'm', 's'] as const).find((u) => (r.since ?? 0) % (units[u] ?? 1) === 0) ?? 's'
    const n = r.since / (units[unit] ?? 1)
    if (unit === 'd' && n === 1) return copy.last24Hours
    return copy.last(n, unit)
  }
  const [from, to] = [r.from, r.to].map((ms) => (ms === undefined ? undefined : shortTime(ms, now)))
  if (from && to) return copy.fromTo(from, to)
  if (from) return copy.since(from)
  return to ? copy.until(to) : copy.allTime
}

/** ISO 8601 in UTC, without zero milliseconds. */
export const toIso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** Local time to the second, for <input type="datetime-local">. */
export function toLocalInput(ms: number): string {
  const shifted = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}
