import type { AlertRule } from '../../lib/api/schema'
import { alertText as text } from './notificationText'

/** The members that the form offers for each kind, with the hub's defaults. */
export const kindDefaults: Record<AlertRule['kind'], Omit<AlertRule, 'id' | 'kind'>> = {
  stuck: { minutes: 15 },
  errors: { percent: 50, calls: 20 },
  loop: { failures: 5, calls: 8 },
  spend: { usd: 10, minutes: 1440, per: 'all' },
}

/** A number of a rule in the form, within the hub's bounds. */
interface Limit {
  member: 'minutes' | 'percent' | 'calls' | 'failures' | 'usd'
  label: string
  min: number
  max: number
  step?: number
}

/** The numbers of the form. The window of a spend rule is a list of choices. */
export const limits: Record<AlertRule['kind'], Limit[]> = {
  stuck: [{ member: 'minutes', label: text.minutes, min: 1, max: 43_200 }],
  errors: [
    { member: 'percent', label: text.percent, min: 1, max: 100 },
    { member: 'calls', label: text.calls, min: 2, max: 200 },
  ],
  loop: [
    { member: 'failures', label: text.failures, min: 2, max: 200 },
    { member: 'calls', label: text.equalCalls, min: 2, max: 200 },
  ],
  spend: [{ member: 'usd', label: text.usd, min: 0.01, max: 1_000_000, step: 0.01 }],
}

/** A window as text, such as 24 hours. */
const windowText = (minutes: number): string => text.windows[minutes] ?? `${minutes} min`

/** A rule as a sentence. */
export function ruleSentence(r: AlertRule): string {
  const { sentences } = text
  const sentence = {
    stuck: () => sentences.stuck(r.minutes ?? 0),
    errors: () => sentences.errors(r.percent ?? 0, r.calls ?? 0),
    loop: () => sentences.loop(r.failures ?? 0, r.calls ?? 0),
    spend: () => sentences.spend(r.usd ?? 0, text.pers[r.per ?? 'all'] ?? '', windowText(r.minutes ?? 0)),
  }[r.kind]()
  return sentence + (r.source_app ? text.only(r.source_app) : '')
}
