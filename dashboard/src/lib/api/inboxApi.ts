// API calls for requests, rules, notification channels and the audit log.
import { encode } from '../format/uri'
import { call, post, put, remove } from './api'
import type {
  AutomaticPage,
  PolicyList,
  Replay,
  ReplayDraft,
  AlertList,
  CoverageList,
  AlertRule,
  AlertRuleList,
  Channel,
  ChannelDraft,
  ChannelFilter,
  Freeze,
  FreezeDraft,
  FreezeList,
  HitlPage,
  HitlStats,
  HitlStatus,
  HubKey,
  LedgerEntry,
  NotificationSettings,
  Rule,
  ChannelTestResult,
  ChatAccount,
  ChatAccounts,
  ChatCode,
  Confirmation,
} from './schema'
import type { RuleDraft, RulePreview } from './types'

/** Which agents run the gate, by machine and account. */
export const coverage = () => call<CoverageList>('/api/coverage')

/** The open alerts and the newest closed ones. */
export const alerts = () => call<AlertList>('/api/alerts')

/** The alert rules. */
export const alertRules = () => call<AlertRuleList>('/api/alert-rules')

/** Creates an alert rule and returns all. */
export const createAlertRule = (rule: AlertRule) => post<AlertRuleList>('/api/alert-rules', rule)

/** Removes an alert rule and returns the others. */
export const removeAlertRule = (id: number) => remove<AlertRuleList>(`/api/alert-rules/${id}`)

/** All rules, active and ended, newest first. */
export const rules = () => call<Rule[]>('/api/rules')

/** Previews a rule and its back test without creating it. */
export const previewRule = (draft: RuleDraft, signal?: AbortSignal) =>
  post<RulePreview>('/api/rules/preview', draft, signal)

/** Creates a rule that answers on behalf of the person. */
export const createRule = (draft: RuleDraft) => post<Rule>('/api/rules', draft)

/** Revokes a rule immediately; it stays in the list. */
export const revokeRule = (id: number) => remove<Rule>(`/api/rules/${id}`)

/** The policy files that hooks reported, with their rules. */
export const policies = () => call<PolicyList>('/api/policies')

/** Compares the text of a policy file, or a draft of a rule, with the calls of the last 30 days. */
export const replay = (draft: ReplayDraft, signal?: AbortSignal) =>
  post<Replay>('/api/policies/replay', draft, signal)

/** A page of the answers that rules gave, newest first. before: next of the previous page. */
export const automatic = (before?: number) =>
  call<AutomaticPage>(`/api/automatic${before === undefined ? '' : `?before=${before}`}`)

/** The active freezes, and the state of their agents. */
export const freezes = () => call<FreezeList>('/api/freezes')

/** Stops agents at their next tool call. If they are frozen already, returns the active freeze. */
export const freeze = (draft: FreezeDraft) => post<Freeze>('/api/freezes', draft)

/** Lifts a freeze. */
export const liftFreeze = (id: number) => remove<Freeze>(`/api/freezes/${id}`)

/** The filters of a request list. */
export interface RequestQuery {
  status?: HitlStatus
  agents?: readonly string[]
  /** The range of the creation time by the hub's clock, Unix ms: from inclusive, to exclusive. */
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

/** A page of requests, newest first. */
export const requests = (wanted: RequestQuery) => call<HitlPage>(`/hitl/requests?${requestParams(wanted)}`)

/** Counts requests by status and day in the browser's time zone. days replaces from and to. */
export function stats(
  wanted: Pick<RequestQuery, 'agents' | 'from' | 'to'> & { days?: number },
): Promise<HitlStats> {
  const query = requestParams(wanted)
  query.set('tz', Intl.DateTimeFormat().resolvedOptions().timeZone)
  return call<HitlStats>(`/hitl/stats?${query}`)
}

/** The notification channels, without their secrets. */
export const channels = () => call<Channel[]>('/api/channels')

/** Creates a channel. Only this result contains a webhook's secret. */
export const createChannel = (draft: ChannelDraft) => post<Channel>('/api/channels', draft)

/** Replaces the filter of a channel. */
export const setChannelFilter = (id: number, filter: ChannelFilter) =>
  put<unknown>(`/api/channels/${id}/filter`, filter)

/** Removes a channel. */
export const removeChannel = (id: number) => remove<unknown>(`/api/channels/${id}`)

/** Sends a test message through a channel. */
export const testChannel = (id: number) => post<ChannelTestResult>(`/api/channels/${id}/test`, {})

/** The signed-in person's notification settings. */
/** The chat accounts with which the person answers, and the bots that take answers. */
export const chatAccounts = () => call<ChatAccounts>('/api/chat-accounts')

/** Creates a code that links a chat account once. */
export const createChatCode = (confirmation: Confirmation) =>
  post<ChatCode>('/api/chat-accounts/codes', confirmation)

/** Unlinks a chat account. */
export const unlinkChatAccount = (a: ChatAccount) =>
  remove<ChatAccounts>(`/api/chat-accounts/${encode(a.kind)}/${encode(a.account)}`)

export const notificationSettings = () => call<NotificationSettings>('/api/channels/mine')
export const saveNotificationSettings = (mine: NotificationSettings) =>
  post<NotificationSettings>('/api/channels/mine', mine)

/** Entries of the audit log, oldest first: the newest, or those after or before a number. */
export function ledger(page: { after?: number; before?: number; limit: number }): Promise<LedgerEntry[]> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(page)) query.set(name, String(value))
  return call<LedgerEntry[]>(`/api/ledger?${query}`)
}

/** The hub's identity. */
export const hubKey = () => call<HubKey>('/api/hub')

/** The download path of a settled request's receipt. */
export const receiptPath = (id: number) => `/events/${id}/receipt`

/** Whether a request has a receipt; a request that an older hub settled has none. */
export async function hasReceipt(id: number): Promise<boolean> {
  try {
    return (await fetch(receiptPath(id), { method: 'HEAD' })).ok
  } catch {
    return false // offline, so it can't be downloaded either
  }
}

/** The download path of the whole audit log. */
export const ledgerPath = '/api/ledger?after=0&format=ndjson'
