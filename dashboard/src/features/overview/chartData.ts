import { formatLongDuration } from '../../lib/format/clock'
import { dateRangeBounds, isUnbounded, type DateRange } from '../../lib/format/dateRange'
import type { DayCount, Overview, LatencyBucket } from '../../lib/api/schema'
import { latencyText, outcomeText } from './text'

/** The outcomes of a question, in stacking order from the bottom. */
export const OUTCOMES = [
  'approved',
  'answered',
  'denied',
  'timeout',
  'dismissed',
  'gone',
  'cancelled',
  'other',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export const outcomeNames: Record<Outcome, string> = outcomeText.names

/** A column of a chart. Its parts are stacked from the bottom. */
export interface Column {
  key: string
  /** The axis label. */
  label: string
  /** The full name, for tooltips and screen readers. */
  name: string
  /** The width relative to the other columns. */
  width: number
  parts: { tone: string; name: string; n: number }[]
}

/** The smallest round number of units that is at least n, for the top of a scale. */
export function roundUp(n: number, unit = 1): number {
  const units = n / unit
  if (units <= 1) return unit
  const power = 10 ** Math.floor(Math.log10(units))
  return ([1, 2, 4, 5, 6, 8, 10].find((m) => m * power >= units) ?? 10) * power * unit
}

/** The values of the grid lines of a scale up to max, which is the last one. They are whole units. */
export function ticks(max: number, unit = 1): number[] {
  const units = Math.round(max / unit)
  const step = [4, 5, 2].map((parts) => units / parts).find(Number.isInteger) ?? units
  return Array.from({ length: units / step + 1 }, (_, i) => i * step * unit)
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
export const totalOutcomes = (day: DayCount): number => sum(OUTCOMES.map((outcome) => day[outcome]))

// The hub sends days as dates in the user's time zone, not as times.
const asDate = (day: string) => new Date(day + 'T12:00:00Z')
const inUTC = (options: Intl.DateTimeFormatOptions) =>
  new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' })
const dayMonth = inUTC({ day: 'numeric', month: 'short' })
const weekdayMonth = inUTC({ weekday: 'long', day: 'numeric', month: 'long' })

export const shortDay = (day: string): string => dayMonth.format(asDate(day))
export const dayName = (day: string): string => weekdayMonth.format(asDate(day))

export function dayColumns(days: readonly DayCount[]): Column[] {
  return days.map((day) => ({
    key: day.day,
    label: shortDay(day.day),
    name: dayName(day.day),
    width: 1,
    parts: OUTCOMES.map((outcome) => ({ tone: outcome, name: outcomeNames[outcome], n: day[outcome] })),
  }))
}

const FIRST_BUCKET_FROM = 500 // ms
const FIVE_YEARS = 5 * 365 * 86_400_000

/** The range of a latency bucket, as text. */
export function bucketName(buckets: readonly LatencyBucket[], i: number): string {
  const below = buckets[i]?.belowMs ?? 0
  const from = buckets[i - 1]?.belowMs
  if (from === undefined) return latencyText.under(formatLongDuration(below))
  if (below > FIVE_YEARS) return latencyText.over(formatLongDuration(from))
  return latencyText.between(formatLongDuration(from), formatLongDuration(below))
}

/** The latency buckets as columns. Their widths follow a logarithmic scale. */
export function waitColumns(buckets: readonly LatencyBucket[]): Column[] {
  return buckets.map(({ belowMs, count }, i) => {
    const from = buckets[i - 1]?.belowMs ?? FIRST_BUCKET_FROM
    const below = belowMs > FIVE_YEARS ? from * 2 : belowMs
    const name = bucketName(buckets, i)
    return {
      key: String(belowMs),
      label: belowMs > FIVE_YEARS ? '' : formatLongDuration(belowMs),
      name,
      width: Math.log2(below / from),
      parts: [{ tone: 'waits', name: latencyText.answers, n: count }],
    }
  })
}

export const formatNumber = (n: number): string => n.toLocaleString('en')

/** Reports whether the overview has no data. */
export const isEmpty = (o: Overview): boolean =>
  o.agents.length === 0 &&
  o.tools.length === 0 &&
  o.pending === 0 &&
  o.days.every((d) => totalOutcomes(d) === 0)

export const RANGES = [1, 7, 14, 30, 90]

/** The range if none is selected. */
const DEFAULT_DAYS = 14
const MAX_DAYS = 90

/** The number of days up to today that contain the range. */
export function daysIn(period: DateRange, now: number): number {
  if (isUnbounded(period)) return DEFAULT_DAYS
  if (period.days) return Math.min(period.days, MAX_DAYS)
  const { from = 0 } = dateRangeBounds(period, now)
  return Math.min(MAX_DAYS, Math.max(1, Math.ceil((now - from) / 86_400_000)))
}
