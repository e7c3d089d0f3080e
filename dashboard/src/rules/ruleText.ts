import { formatTimeLeft } from '../clock'
import type { Rule } from '../schema'
import type { RulePreview } from '../types'

/** How a rule stands. */
export type RuleStatus = 'active' | 'expired' | 'revoked'

export function ruleStatus(rule: Rule, now: number): RuleStatus {
  if (rule.revokedAt) return 'revoked'
  return rule.expiresAt && rule.expiresAt <= now ? 'expired' : 'active'
}

/** How long it still holds, in words. */
export function expiryText(rule: Rule, now: number): string {
  switch (ruleStatus(rule, now)) {
    case 'revoked':
      return rule.revokedBy ? `revoked by ${rule.revokedBy}` : 'revoked'
    case 'expired':
      return 'over'
    case 'active':
      return rule.expiresAt
        ? `${formatTimeLeft(rule.expiresAt - now)} left`
        : rule.session_id
          ? 'until its session ends'
          : 'until it is revoked'
  }
}

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n.toLocaleString('en')} times`)

/** How often it answered. */
export const usageText = (rule: Rule): string =>
  rule.uses === 0 ? 'not used yet' : `used ${times(rule.uses)}`

/** What the back-test found, in one or two sentences. */
export function backTestText(p: RulePreview): string {
  const n = (count: number, one: string, many: string) =>
    `${count.toLocaleString('en')} ${count === 1 ? one : many}`
  if (p.looked === 0) return 'There are no earlier requests to hold it against.'
  const looked = n(p.looked, 'earlier request', 'earlier requests')
  if (p.matched === 0) return `Of the ${looked} it would have answered none.`
  const parts = [
    p.agreed > 0 && `${n(p.agreed, 'as it was decided', 'as they were decided')}`,
    p.opposed > 0 && `${n(p.opposed, 'the other way round', 'the other way round')}`,
    p.undecided > 0 && `${n(p.undecided, 'that nobody had answered', 'that nobody had answered')}`,
  ].filter((part): part is string => part !== false)
  return `Of the ${looked} it would have answered ${p.matched.toLocaleString('en')}: ${parts.join(', ')}.`
}

/** The parts of the back-test's bar, from the left. */
export function previewBar(
  p: RulePreview,
): { tone: 'agreed' | 'opposed' | 'undecided'; name: string; n: number }[] {
  return [
    { tone: 'agreed' as const, name: 'As people decided', n: p.agreed },
    { tone: 'opposed' as const, name: 'The other way round', n: p.opposed },
    { tone: 'undecided' as const, name: 'Nobody had answered', n: p.undecided },
  ].filter(({ n }) => n > 0)
}
