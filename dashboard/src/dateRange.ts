/**
 * A stretch of days that the inbox and the overview look at: the last so many, today
 * included, or from one day to another, both included. Without either it is all there is.
 */
export interface DateRange {
  days?: number
  /** 2026-11-21, in the person's time zone. */
  from?: string
  to?: string
}

/** How many days can be chosen with one click. */
export const DAY_OPTIONS = [1, 7, 14, 30, 90] as const

const DAY = /^\d{4}-\d{2}-\d{2}$/

/** The middle of a day is a day, whatever the clocks do that night. */
const isDay = (text: string | null): text is string =>
  text !== null && DAY.test(text) && !Number.isNaN(new Date(text + 'T12:00').getTime())

/** Reads the period of an address; undefined when it says nothing of one. */
export function parseDateRange(query: URLSearchParams): DateRange | undefined {
  const days = query.get('days')
  if (days === 'all') return {}
  if (days !== null && /^\d{1,3}$/.test(days) && Number(days) >= 1 && Number(days) <= 366)
    return { days: Number(days) }
  const [from, to] = [query.get('from'), query.get('to')]
  const period = { ...(isDay(from) && { from }), ...(isDay(to) && { to }) }
  return period.from || period.to ? period : undefined
}

/** The same as parameters of an address, empty where there is nothing to say. */
export const dateRangeQuery = ({ days, from, to }: DateRange) => ({
  days: days ? String(days) : from || to ? '' : 'all',
  from: from ?? '',
  to: to ?? '',
})

export const isUnbounded = ({ days, from, to }: DateRange): boolean => !days && !from && !to

/** The day before or after the one that time is in, at its very beginning. */
function startOfDay(time: Date, days = 0): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate() + days).getTime()
}

/** The period as times of this machine's zone: not before from, and before to. */
export function dateRangeBounds(p: DateRange, now: number): { from?: number; to?: number } {
  if (p.days) return { from: startOfDay(new Date(now), 1 - p.days) }
  return {
    ...(p.from && { from: startOfDay(new Date(p.from + 'T12:00')) }),
    ...(p.to && { to: startOfDay(new Date(p.to + 'T12:00'), 1) }),
  }
}

const dayMonth = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const short = (day: string) => dayMonth.format(new Date(day + 'T12:00'))

/** What it is, in words: "7 days", "1 Nov to 8 Nov", "any time". */
export function dateRangeLabel({ days, from, to }: DateRange): string {
  if (days) return days === 1 ? 'Today' : `${days} days`
  if (from && to) return from === to ? short(from) : `${short(from)} to ${short(to)}`
  if (from) return `since ${short(from)}`
  return to ? `until ${short(to)}` : 'Any time'
}
