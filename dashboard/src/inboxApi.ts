// What the hub's inbox, its rules, its notices and its record are asked for.
import { call, post } from './api'
import type {
  Channel,
  ChannelDraft,
  HitlPage,
  HitlStats,
  HitlStatus,
  LedgerEntry,
  NotificationSettings,
  Rule,
  ChannelTestResult,
} from './schema'
import type { RuleDraft, RulePreview } from './types'

/** The hub takes no change from a browser without a body of JSON. */
const remove = <T>(path: string, body: unknown = {}) =>
  call<T>(path, {
    method: 'DELETE',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })

/** The rules that hold, and those that are over, the newest first. */
export const rules = () => call<Rule[]>('/api/rules')

/** What a rule would say and would have done, without making it. */
export const previewRule = (draft: RuleDraft, signal?: AbortSignal) =>
  post<RulePreview>('/api/rules/preview', draft, signal)

/** Makes a rule that answers in the person's place. */
export const createRule = (draft: RuleDraft) => post<Rule>('/api/rules', draft)

/** Revokes a rule at once; it stays in the list. */
export const revokeRule = (id: number) => remove<Rule>(`/api/rules/${id}`)

/** Which requests of the hub's inbox are wanted. */
export interface RequestQuery {
  status?: HitlStatus
  agents?: readonly string[]
  /** Asked not before from, and before to, the hub's clock, Unix ms. */
  from?: number
  to?: number
  cursor?: string
  limit?: number
}

function requestParams({ agents = [], ...wanted }: RequestQuery): URLSearchParams {
  const query = new URLSearchParams()
  for (const agent of agents) query.append('agent', agent)
  for (const [name, value] of Object.entries(wanted)) if (value !== undefined) query.set(name, String(value))
  return query
}

/** A page of the hub's inbox, the newest first. */
export const requests = (wanted: RequestQuery) => call<HitlPage>(`/hitl/requests?${requestParams(wanted)}`)

/** How many requests there are by status, day by day in the page's own time zone; days: instead of from and to. */
export function stats(
  wanted: Pick<RequestQuery, 'agents' | 'from' | 'to'> & { days?: number },
): Promise<HitlStats> {
  const query = requestParams(wanted)
  query.set('tz', Intl.DateTimeFormat().resolvedOptions().timeZone)
  return call<HitlStats>(`/hitl/stats?${query}`)
}

/** The ways by which people are told, without their secrets. */
export const channels = () => call<Channel[]>('/api/channels')

/** Makes a channel. A webhook's secret is in the answer, and nowhere else. */
export const createChannel = (draft: ChannelDraft) => post<Channel>('/api/channels', draft)

/** Removes a channel. */
export const removeChannel = (id: number) => remove<unknown>(`/api/channels/${id}`)

/** Sends a message by a channel, to see whether it gets through. */
export const testChannel = (id: number) => post<ChannelTestResult>(`/api/channels/${id}/test`, {})

/** When and where I am told. */
export const notificationSettings = () => call<NotificationSettings>('/api/channels/mine')
export const saveNotificationSettings = (mine: NotificationSettings) =>
  post<NotificationSettings>('/api/channels/mine', mine)

/** Entries of the record, oldest first: the newest, or those above or below a number. */
export function ledger(page: { after?: number; before?: number; limit: number }): Promise<LedgerEntry[]> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(page)) query.set(name, String(value))
  return call<LedgerEntry[]>(`/api/ledger?${query}`)
}

/** Where the whole record is downloaded from. */
export const ledgerPath = '/api/ledger?after=0&format=ndjson'
