import { callPreview } from '../inbox/callPreview'
import { riskLevel, isHighRisk, type Request } from '../requests'

/**
 * Why no rule can be made at this request; undefined when one can. What is risky, and
 * what several people have to agree on, is looked at each time.
 */
export function ruleBlocker(r: Request): string | undefined {
  if (r.question.type !== 'permission') return 'Only permissions can have a rule.'
  if (isHighRisk(r))
    return `${riskLevel(r) === 'critical' ? 'Critical' : 'High'} risk is looked at each time: no rule ever answers it.`
  if (!callPreview(r.event)?.tool) return 'There is no tool call here that a rule could cover.'
  if ((r.status.requiredApprovals ?? r.question.requiredApprovals ?? 1) > 1)
    return 'It takes the votes of several people: no rule answers in their place.'
  const mode = r.question.recipients?.mode ?? 'anyone'
  if (mode !== 'anyone') return 'It is put to certain people: no rule answers in their place.'
  return undefined
}
