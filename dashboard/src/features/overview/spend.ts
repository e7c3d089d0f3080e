import type { SpendReport, SpendRow } from '../../lib/api/schema'
import { totalTokens } from '../../lib/format/amounts'
import { dayName, shortDay, type Column } from './chartData'
import { spendText } from './text'

export type SpendGroup = 'model' | 'app' | 'project' | 'person'

/** The groups of the chart, and their member in a row. */
export const SPEND_GROUPS = [
  { by: 'model', member: 'model' },
  { by: 'app', member: 'source_app' },
  { by: 'project', member: 'project' },
  { by: 'person', member: 'person' },
] as const satisfies { by: SpendGroup; member: keyof SpendRow }[]

/** The number of names that have their own color. The rest is one part. */
const MAX_NAMES = 5

const nameOf = (row: SpendRow, group: SpendGroup): string =>
  row[SPEND_GROUPS.find((one) => one.by === group)?.member ?? 'model'] ?? ''
const amountOf = (row: SpendRow, inDollars: boolean): number =>
  inDollars ? row.costUsd : totalTokens(row.tokens)

/** The names of the parts, largest first; the last one stands for all others if there are too many. */
export function topNames(report: SpendReport, group: SpendGroup, inDollars: boolean): string[] {
  const totals = new Map<string, number>()
  for (const row of report.rows) {
    const name = nameOf(row, group)
    totals.set(name, (totals.get(name) ?? 0) + amountOf(row, inDollars))
  }
  const names = [...totals]
    .filter(([, n]) => n > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([name]) => name)
  return names.length > MAX_NAMES ? [...names.slice(0, MAX_NAMES), spendText.others] : names
}

/** The parts of a column. */
export interface SpendParts {
  group: SpendGroup
  names: readonly string[]
  inDollars: boolean
}

/** One column for each of the days up to now. */
export function spendColumns(
  report: SpendReport,
  { group, names, inDollars }: SpendParts,
  days: number,
  now: number,
): Column[] {
  return Array.from({ length: days }, (_, i) => {
    const date = new Date(now)
    date.setDate(date.getDate() - (days - 1 - i))
    const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()]
      .map((n) => String(n).padStart(2, '0'))
      .join('-')
    const rows = report.rows.filter((row) => row.day === day)
    const inPart = (row: SpendRow) => {
      const at = names.indexOf(nameOf(row, group))
      return at < 0 ? names.length - 1 : at
    }
    return {
      key: day,
      label: shortDay(day),
      name: dayName(day),
      width: 1,
      parts: names.map((name, part) => ({
        tone: `spend-${part}`,
        name: name || spendText.unknown,
        n: rows.filter((row) => inPart(row) === part).reduce((n, row) => n + amountOf(row, inDollars), 0),
      })),
    }
  })
}

/**
 * The cost of the whole month if the rest of it costs as much per day as the part until now. It is
 * undefined within the first day, which is too short for a forecast.
 */
export function monthForecast(costUsd: number, now: Date): number | undefined {
  const start = new Date(now.getFullYear(), now.getMonth(), 1).getTime()
  const end = new Date(now.getFullYear(), now.getMonth() + 1, 1).getTime()
  const elapsed = now.getTime() - start
  return elapsed < 86_400_000 ? undefined : (costUsd * (end - start)) / elapsed
}
