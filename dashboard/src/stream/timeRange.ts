/** A stretch of time, on the hub's clock. Without since, from and to it is all of it. */
export interface TimeRange {
  /** The last so many ms: it moves along with the time. */
  readonly since?: number
  /** Unix ms; not before it. */
  readonly from?: number
  /** Unix ms; before it. */
  readonly to?: number
}

export const spans = ['5m', '15m', '1h', '24h', '7d'] as const
export type Span = (typeof spans)[number]

const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const words: Record<string, string> = { s: 'second', m: 'minute', h: 'hour', d: 'day' }

/** Reads the range of an address: since=15m, or from= and to= in ISO 8601 or Unix ms. */
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

/** Whether the range leaves anything out. */
export const isLimited = (r: TimeRange): boolean =>
  r.since !== undefined || r.from !== undefined || r.to !== undefined

/** When the range begins, as of now; -Infinity when it has no beginning. */
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

/** 12:04:31, with the day where it is not today. */
export function shortTime(ms: number, now: number): string {
  const sameDay = new Date(ms).toDateString() === new Date(now).toDateString()
  return (sameDay ? clock : moment).format(ms)
}

/** What the range is, in words: "last 15 minutes", "12:04:00 to 12:09:00". */
export function rangeLabel(r: TimeRange, now: number): string {
  if (r.since !== undefined) {
    const unit = (['d', 'h', 'm', 's'] as const).find((u) => (r.since ?? 0) % (units[u] ?? 1) === 0) ?? 's'
    const n = r.since / (units[unit] ?? 1)
    if (unit === 'd' && n === 1) return 'last 24 hours'
    return n === 1 ? `last ${words[unit]}` : `last ${n} ${words[unit]}s`
  }
  const [from, to] = [r.from, r.to].map((ms) => (ms === undefined ? undefined : shortTime(ms, now)))
  if (from && to) return `${from} to ${to}`
  if (from) return `since ${from}`
  return to ? `until ${to}` : 'all time'
}

/** For the address: whole seconds of UTC where that loses nothing. */
export const toIso = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z')

/** For <input type="datetime-local">: local time to the second. */
export function toLocalInput(ms: number): string {
  const shifted = new Date(ms - new Date(ms).getTimezoneOffset() * 60_000)
  return shifted.toISOString().slice(0, 19)
}
