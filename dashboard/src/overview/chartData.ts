import { formatLongDuration } from '../clock'
import { dateRangeBounds, isUnbounded, type DateRange } from '../dateRange'
import type { DayCount, HitlDay, Overview, Tokens, LatencyBucket } from '../schema'

/** How a question can end, in the order of the bars from the ground up. */
export const OUTCOMES = ['approved', 'answered', 'denied', 'timeout', 'cancelled', 'other'] as const
export type Outcome = (typeof OUTCOMES)[number]

export const outcomeNames: Record<Outcome, string> = {
  approved: 'Approved',
  answered: 'Answered',
  denied: 'Denied',
  timeout: 'No answer',
  cancelled: 'Cancelled',
  other: 'Other',
}

/** A column of a chart: parts from the ground up. */
export interface Column {
  key: string
  /** Under the column. */
  label: string
  /** What it stands for in full. */
  name: string
  /** How wide it is beside the others. */
  width: number
  parts: { tone: string; name: string; n: number }[]
}

/** A round number that n does not exceed, for the top of a scale. */
export function roundUp(n: number): number {
  if (n <= 1) return 1
  const power = 10 ** Math.floor(Math.log10(n))
  return ([1, 2, 4, 5, 6, 8, 10].find((m) => m * power >= n) ?? 10) * power
}

/** Where lines go across a chart: whole numbers, the top one last. */
export function ticks(max: number): number[] {
  const step = [4, 5, 2].map((parts) => max / parts).find(Number.isInteger) ?? max
  return Array.from({ length: Math.round(max / step) + 1 }, (_, i) => i * step)
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
export const totalOutcomes = (day: DayCount): number => sum(OUTCOMES.map((outcome) => day[outcome]))

// Days come as names of days in the person's time zone, not as times.
const asDate = (day: string) => new Date(day + 'T12:00:00Z')
const inUTC = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
const dayMonth = inUTC({ day: 'numeric', month: 'short' })
const weekdayMonth = inUTC({ weekday: 'long', day: 'numeric', month: 'long' })

export const dayName = (day: string): string => weekdayMonth.format(asDate(day))

export function dayColumns(days: readonly DayCount[]): Column[] {
  return days.map((day) => ({
    key: day.day,
    label: dayMonth.format(asDate(day.day)),
    name: dayName(day.day),
    width: 1,
    parts: OUTCOMES.map((outcome) => ({ tone: outcome, name: outcomeNames[outcome], n: day[outcome] })),
  }))
}

/** Where a request can stand, in the order of the bars from the ground up. */
export const STATES = ['decided', 'expired', 'cancelled', 'pending'] as const

export const stateNames: Record<(typeof STATES)[number], string> = {
  decided: 'Decided',
  expired: 'Expired',
  cancelled: 'Cancelled',
  pending: 'Pending',
}

export function requestColumns(days: readonly HitlDay[]): Column[] {
  return days.map((day) => ({
    key: day.day,
    label: dayMonth.format(asDate(day.day)),
    name: dayName(day.day),
    width: 1,
    parts: STATES.map((state) => ({ tone: `in-${state}`, name: stateNames[state], n: day[state] })),
  }))
}

const FIRST_FROM = 500
const YEARS = 5 * 365 * 86_400_000

/** What a bin of waiting times holds, in words. */
export function bucketName(bins: readonly LatencyBucket[], i: number): string {
  const below = bins[i]?.belowMs ?? 0
  const from = bins[i - 1]?.belowMs
  if (from === undefined) return `under ${formatLongDuration(below)}`
  if (below > YEARS) return `over ${formatLongDuration(from)}`
  return `${formatLongDuration(from)} to ${formatLongDuration(below)}`
}

/** Bins of waiting times as columns as wide as they are on a logarithmic scale. */
export function waitColumns(bins: readonly LatencyBucket[]): Column[] {
  return bins.map(({ belowMs, count }, i) => {
    const from = bins[i - 1]?.belowMs ?? FIRST_FROM
    const below = belowMs > YEARS ? from * 2 : belowMs
    const name = bucketName(bins, i)
    return {
      key: String(belowMs),
      label: belowMs > YEARS ? '' : formatLongDuration(belowMs),
      name,
      width: Math.log2(below / from),
      parts: [{ tone: 'waits', name: 'Answers', n: count }],
    }
  })
}

export const totalTokens = (t: Tokens | undefined): number =>
  t ? t.input + t.output + (t.cacheRead ?? 0) + (t.cacheWrite ?? 0) : 0

const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
export const formatCompact = (n: number): string => short.format(n)
export const formatNumber = (n: number): string => n.toLocaleString('en')
export const formatDollars = (n: number): string => '$' + n.toFixed(n < 10 ? 2 : 0)

/** Whether nothing at all is to be told. */
export const isEmpty = (o: Overview): boolean =>
  o.agents.length === 0 &&
  o.tools.length === 0 &&
  o.pending === 0 &&
  o.days.every((d) => totalOutcomes(d) === 0)

export const RANGES = [1, 7, 14, 30, 90]

/** The days that are shown when none were chosen. */
export const DEFAULT_DAYS = 14
const MOST_DAYS = 90

/** How many days, up to today, have the period in them. */
export function daysIn(period: DateRange, now: number): number {
  if (isUnbounded(period)) return DEFAULT_DAYS
  if (period.days) return Math.min(period.days, MOST_DAYS)
  const { from = 0 } = dateRangeBounds(period, now)
  return Math.min(MOST_DAYS, Math.max(1, Math.ceil((now - from) / 86_400_000)))
}
