import { freezeOf } from '../../lib/stream/freezes'
import { isHighRisk, isRisky, requestTitle, type Lists, type Request } from '../../lib/stream/requests'
import { shortSession } from '../../lib/stream/eventView'
import { callSummary } from '../../lib/format/callPreview'
import type { Freeze } from '../../lib/api/schema'
import { inboxText } from './text'

const copy = inboxText.bulk.blockers

/** The filters of the inbox, stored in the URL. */
export interface View {
  kind: string
  /** Only these agents; empty means all. */
  agents: string[]
  risk: string
  find: string
  /** Only requests that wait for the signed-in person; see isMine. */
  mine: boolean
  tab: Tab
  group: GroupKind
  /** The time range of askedAt, from inclusive, to exclusive, by the hub's clock. */
  from?: number
  to?: number
}

/** The grouping of the open requests. */
export type GroupKind = 'none' | 'session' | 'agent'

/** pending is Open; the others are Done. automatic: those that a rule of the hub answered. */
export type Tab = 'pending' | 'done' | 'decided' | 'automatic' | 'expired' | 'cancelled'

/** The status that the hub uses for the requests of each tab; empty for any. */
export const tabs: Record<Tab, { status: string }> = {
  pending: { status: 'pending' },
  done: { status: '' },
  decided: { status: 'responded' },
  automatic: { status: 'responded' },
  expired: { status: 'timeout' },
  cancelled: { status: 'error' },
}

export function parseView(query: URLSearchParams, within: { from?: number; to?: number } = {}): View {
  const get = (name: string) => query.get(name) ?? ''
  const tab = get('tab')
  const group = get('group')
  return {
    kind: get('kind'),
    agents: query.getAll('agent').filter(Boolean),
    risk: get('risk'),
    find: get('find'),
    mine: get('mine') !== '',
    ...within,
    tab: Object.hasOwn(tabs, tab) ? (tab as Tab) : 'pending',
    group: group === 'session' || group === 'agent' ? group : 'none',
  }
}

/** Whether a request matches the filters. */
export function matchesView(r: Request, view: View, me = ''): boolean {
  const { kind, agents, risk, find, from = -Infinity, to = Infinity } = view
  if (kind && r.question.type !== kind) return false
  if (agents.length > 0 && !agents.includes(r.event.source_app)) return false
  if (r.askedAt < from || r.askedAt >= to) return false
  if (view.mine && me && !isMine(r, me)) return false
  if (risk && !isHighRisk(r)) return false
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const { question, event } = r
  const text = [
    question.question,
    event.source_app,
    event.session_id,
    requestTitle(r),
    callSummary(event, r.status.edited?.arguments),
    `#${r.id}`,
  ]
    .join('\n')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/**
 * Whether a request waits for this person: addressed to them, as an owner or by name, and not voted yet; or for
 * everyone, because no owner can decide it.
 */
const isMine = ({ status }: Request, me: string): boolean =>
  status.status === 'pending' &&
  (status.recipients ? (status.awaiting ?? []).includes(me) : status.owners !== undefined)

/** Whether any filter is active. */
export const isFiltered = (v: View): boolean =>
  !!(v.kind || v.risk || v.find || v.mine || v.from || v.to) || v.agents.length > 0

export function filterLists(all: Lists, view: View, me = ''): Lists {
  if (!isFiltered(view)) return all
  const few = (list: Request[]) => list.filter((r) => matchesView(r, view, me))
  return {
    undelivered: few(all.undelivered),
    needs: few(all.needs),
    gone: few(all.gone),
    votes: few(all.votes),
    snoozed: few(all.snoozed),
    settled: few(all.settled),
    duplicates: all.duplicates,
    needsYou: all.needsYou,
  }
}

/** The group of a request: its key and its name, which the agent chose. */
export function groupOf({ event }: Request, by: GroupKind): { key: string; name: string } | undefined {
  const { source_app: name, session_id: session } = event
  if (by === 'none') return undefined
  if (by === 'agent') return { key: name, name }
  return { key: JSON.stringify([name, session]), name: `${name} · ${shortSession(session)}` }
}

/** Moves the requests of each group together, to the place of its first one. */
export function inGroups(list: readonly Request[], by: GroupKind): Request[] {
  const groups = new Map<string, Request[]>()
  for (const request of list) {
    const key = groupOf(request, by)?.key ?? ''
    groups.set(key, [...(groups.get(key) ?? []), request])
  }
  return [...groups.values()].flat()
}

/** The requests in display order, the order of J and K. gone: the list of them is expanded. */
export const visibleOrder = (l: Lists, gone: boolean): Request[] => [
  ...l.undelivered,
  ...l.needs,
  ...l.votes,
  ...l.snoozed,
  ...l.settled,
  ...(gone ? l.gone : []),
]

/**
 * Why a request cannot be approved in bulk; undefined if it can. Risky requests
 * never can: each needs its own look.
 */
export function bulkBlocker(r: Request, freezes: readonly Freeze[] = []): string | undefined {
  if (r.status.status !== 'pending' || r.status.held || r.submission) return copy.settled
  if (r.status.waiter === 'lost') return copy.agentGone
  if (r.question.type !== 'permission') return copy.notPermission
  if (freezeOf(freezes, r.event)) return copy.frozen
  if (r.question.appeal) return copy.appeal
  if (isRisky(r)) return copy.risky
  if (r.question.reasonRequired === 'always') return copy.reason
  if ((r.status.requiredApprovals ?? 1) > 1) return copy.votes
  return undefined
}
