// What the hub's inbox, its rules, its notices and its record are asked for.
import { call, post } from './api'
import type { HitlPage, HitlStats, HitlStatus, Rule } from './schema'
import type { RuleDraft, RulePreview } from './types'

/** The rules that hold, and those that are over, the newest first. */
export const rules = () => call<Rule[]>('/api/rules')

/** What a rule would say and would have done, without making it. */
export const previewRule = (draft: RuleDraft, signal?: AbortSignal) =>
  post<RulePreview>('/api/rules/preview', draft, signal)

/** Makes a rule that answers in the person's place. */
export const makeRule = (draft: RuleDraft) => post<Rule>('/api/rules', draft)

/** Revokes a rule at once; it stays in the list. */
export const revokeRule = (id: number) => call<Rule>(`/api/rules/${id}`, { method: 'DELETE' })

/** Which requests of the hub's inbox are wanted. */
export interface Wanted {
  status?: HitlStatus
  agents?: readonly string[]
  /** Asked not before from, and before to, the hub's clock, Unix ms. */
  from?: number
  to?: number
  cursor?: string
  limit?: number
}

function wantedQuery({ agents = [], ...wanted }: Wanted): URLSearchParams {
  const query = new URLSearchParams()
  for (const agent of agents) query.append('agent', agent)
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) query.set(name, String(value))
  return query
}

/** A page of the hub's inbox, the newest first. */
export const requests = (wanted: Wanted) => call<HitlPage>(`/hitl/requests?${wantedQuery(wanted)}`)

/** How many requests there are by status, day by day in the page's own time zone; days: instead of from and to. */
export function stats(
  wanted: Pick<Wanted, 'agents' | 'from' | 'to'> & { days?: number },
): Promise<HitlStats> {
  const query = wantedQuery(wanted)
  query.set('tz', Intl.DateTimeFormat().resolvedOptions().timeZone)
  return call<HitlStats>(`/hitl/stats?${query}`)
}
