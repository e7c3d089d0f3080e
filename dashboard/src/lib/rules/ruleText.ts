import { formatTimeLeft } from '../format/clock'
import type { Rule } from '../api/schema'
import type { RulePreview } from '../api/types'
import { rulesText as copy } from './text'

/** The state of a rule. */
export type RuleStatus = 'active' | 'expired' | 'revoked'

export function ruleStatus(rule: Rule, now: number): RuleStatus {
  if (rule.revokedAt) return 'revoked'
  return rule.expiresAt && rule.expiresAt <= now ? 'expired' : 'active'
}

/** The remaining time of a rule, or how it ended. */
export function expiryText(rule: Rule, now: number): string {
  switch (ruleStatus(rule, now)) {
    case 'revoked':
      return rule.revokedBy ? copy.status.revokedBy(rule.revokedBy) : copy.status.revoked
    case 'expired':
      return copy.status.expired
    case 'active':
      return rule.expiresAt
        ? copy.status.left(formatTimeLeft(rule.expiresAt - now))
        : rule.session_id
          ? copy.status.untilSessionEnds
          : copy.status.untilRevoked
  }
}

/** How often the rule answered. */
export const usageText = (rule: Rule): string =>
  rule.uses === 0 ? copy.status.unused : copy.status.used(rule.uses)

/** The result of the back test in one sentence. */
export function backTestText(p: RulePreview): string {
  const { backTest } = copy
  const count = (n: number) => n.toLocaleString('en')
  if (p.looked === 0) return backTest.nothing
  const looked = backTest.looked(p.looked)
  if (p.matched === 0) return backTest.noMatch(looked)
  const parts = [
    p.agreed > 0 && backTest.agreed(count(p.agreed)),
    p.opposed > 0 && backTest.opposed(count(p.opposed)),
    p.undecided > 0 && backTest.undecided(count(p.undecided)),
  ].filter((part): part is string => part !== false)
  return backTest.summary(looked, count(p.matched), parts.join(', '))
}

/** The segments of the back test's bar, from the left. */
export function previewBar(
  p: RulePreview,
): { tone: 'agreed' | 'opposed' | 'undecided'; name: string; n: number }[] {
  const { legend } = copy.backTest
  return [
    { tone: 'agreed' as const, name: legend.agreed, n: p.agreed },
    { tone: 'opposed' as const, name: legend.opposed, n: p.opposed },
    { tone: 'undecided' as const, name: legend.undecided, n: p.undecided },
  ].filter(({ n }) => n > 0)
}

/** The hub's maximum number of conditions of a rule. */
const MAX_CONDITIONS = 20

/** Orders rules as the hub evaluates them: by how little they cover, then by age. */
export const byEvaluation = (a: Rule, b: Rule): number => specificity(a) - specificity(b) || a.id - b.id

function specificity({ call, when = [], session_id, cwd, source_app }: Rule): number {
  const reach = session_id ? 0 : cwd ? 1 : source_app ? 2 : 3
  const calls = call
    ? Number(call.startsWith('any:'))
    : when.length > 0
      ? 2 + MAX_CONDITIONS - when.length
      : 3 * (MAX_CONDITIONS + 1)
  return calls * 4 + reach
}
