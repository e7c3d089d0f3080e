import type { SafetySettings } from '../../lib/api/schema'
import { safetyText as text } from './text'

/** The limits as applied, as a sentence. */
export function activeLimits({ equalFailures, spendUsd, spendMinutes }: SafetySettings): string {
  const rules = [
    equalFailures > 0 && text.afterFailures(equalFailures),
    spendUsd > 0 && text.afterSpending(dollars(spendUsd), windowName(spendMinutes)),
  ].filter((rule) => rule !== false)
  return rules.length > 0 ? text.freezes(rules.join(text.and)) : text.off
}

/** An amount such as $10 or $2.50. */
const dollars = (usd: number) => `$${usd.toFixed(2).replace(/\.00$/, '')}`

const windowName = (minutes: number) =>
  minutes === 60 ? text.oneHour : minutes % 60 === 0 ? text.hours(minutes / 60) : text.minutes(minutes)

/** The windows to choose from, with the current one. */
export function windows(current: number): { minutes: number; label: string }[] {
  const all = new Set([15, 60, 240, 480, 1440])
  if (current > 0) all.add(current)
  return [...all].sort((a, b) => a - b).map((minutes) => ({ minutes, label: windowName(minutes) }))
}
