import type { AlertRule } from '../../lib/api/schema'
import { alertText as text } from './text'

/** The members that the form offers for each kind, with the hub's defaults. */
export const kindDefaults: Record<AlertRule['kind'], Omit<AlertRule, 'id' | 'kind'>> = {
  stuck: { minutes: 15 },
  errors: { percent: 50, calls: 20 },
  loop: { failures: 5, calls: 8 },
  spend: { usd: 10, minutes: 1440, per: 'all' },
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
