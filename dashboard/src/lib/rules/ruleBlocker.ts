import { callPreview } from '../format/callPreview'
import { riskLevel, isHighRisk, type Request } from '../stream/requests'
import { rulesText } from './text'

const copy = rulesText.blockers

/**
 * Returns why no rule can be created from this request, or undefined if one can. Rules never apply
 * to high-risk requests, to plans and to requests that need several votes.
 */
export function ruleBlocker(r: Request): string | undefined {
  if (r.question.type !== 'permission') return copy.notPermission
  if (isHighRisk(r)) return copy.risky(riskLevel(r) === 'critical' ? 'Critical' : 'High')
  const call = callPreview(r.event)
  if (!call?.tool) return copy.noTool
  if (call.plan !== undefined) return copy.plan
  if ((r.status.requiredApprovals ?? r.question.requiredApprovals ?? 1) > 1) return copy.votes
  const mode = r.question.recipients?.mode ?? 'anyone'
  if (mode !== 'anyone') return copy.recipients
  return undefined
}
