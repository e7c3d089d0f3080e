import { dateText } from './text'

const copy = dateText

/**
 * The days that the inbox and the overview show: the last n days including today, or an
 * inclusive range. Without any bound it is all time.
 */
export interface DateRange {
  days?: number
  /** 2026-11-21, in the person's time zone. */
  from?: string
  to?: string
}

/** The presets of the menu, in days. */
export const DAY_OPTIONS = [1, 7, 14, 30, 90] as const

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** Parses noon, which exists on every day, even when the clocks change. */
const isDay = (text: string | null): text is string =>
  text !== null && DAY.test(text) && !Number.isNaN(new Date(text + 'T12:00').getTime())

/** Parses the date range of a URL query; undefined if it has none. */
export function parseDateRange(query: URLSearchParams): DateRange | undefined {
  const days = query.get('days')
  if (days === 'all') return {}
  if (days !== null && /^\d{1,3}$/.test(days) && Number(days) >= 1 && Number(days) <= 366)
    return { days: Number(days) }
  const [from, to] = [query.get('from'), query.get('to')]
  const period = { ...(isDay(from) && { from }), ...(isDay(to) && { to }) }
  return period.from || period.to ? period : undefined
}

/** The query parameters of a date range; unset ones are empty. */
export const dateRangeQuery = ({ days, from, to }: DateRange) => ({
  days: days ? String(days) : from || to ? '' : 'all',
  from: from ?? '',
  to: to ?? '',
})

export const isUnbounded = ({ days, from, to }: DateRange): boolean => !days && !from && !to

/** Midnight of the day of time, plus a number of days. Unix ms. */
function startOfDay(time: Date, days = 0): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() + days).getTime()
}

/** The bounds in local time, Unix ms: from inclusive, to exclusive. */
export function dateRangeBounds(p: DateRange, now: number): { from?: number; to?: number } {
  if (p.days) return { from: startOfDay(new Date(now), 1 - p.days) }
  return {
    ...(p.from && { from: startOfDay(new Date(p.from + 'T12:00')) }),
    ...(p.to && { to: startOfDay(new Date(p.to + 'T12:00'), 1) }),
  }
}

/** The longest period, in days, that the hub counts. */
const LONGEST = 90

/** The stats query of a date range; an unbounded range becomes the longest period. */
export function statsQuery(period: DateRange, now: number): { days?: number; from?: number; to?: number } {
  if (isUnbounded(period)) return { days: LONGEST }
  if (period.days) return { days: Math.min(period.days, LONGEST) }
  const { from, to } = dateRangeBounds(period, now)
  return {
    from: from ?? Math.max(0, (to ?? now) - (LONGEST - 1) * 86_400_000),
    ...(to !== undefined && { to }),
  }
}

const dayMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const short = (day: string) => dayMonth.format(new Date(day + 'T12:00'))

/** The label of a date range: "7 days", "1 Nov to 8 Nov", "Any time". */
export function dateRangeLabel({ days, from, to }: DateRange): string {
  if (days) return days === 1 ? copy.today : copy.days(days)
  if (from && to) return from === to ? short(from) : copy.fromTo(short(from), short(to))
  if (from) return copy.since(short(from))
  return to ? copy.until(short(to)) : copy.anyTime
}
