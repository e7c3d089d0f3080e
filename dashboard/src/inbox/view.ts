import { isHighRisk, type Lists, type Request } from '../requests'
import { callSummary } from './callPreview'

/** What of the inbox is shown; it stands in the URL. */
export interface View {
  kind: string
  /** Of these agents only; none: of all. */
  agents: string[]
  risk: string
  find: string
  /** Only what waits for the person who is signed in. */
  mine: boolean
  tab: Tab
  /** Asked not before from, and before to, the hub's clock. */
  from?: number
  to?: number
}

export type Tab = 'pending' | 'decided' | 'expired' | 'cancelled'

/** The tabs, and the state their requests are in at the hub. */
export const tabs: Record<Tab, { name: string; status: string }> = {
  pending: { name: 'Pending', status: 'pending' },
  decided: { name: 'Decided', status: 'responded' },
  expired: { name: 'Expired', status: 'timeout' },
  cancelled: { name: 'Cancelled', status: 'error' },
}

export function parseView(query: URLSearchParams, within: { from?: number; to?: number } = {}): View {
  const get = (name: string) => query.get(name) ?? ''
  const tab = get('tab')
  return {
    kind: get('kind'),
    agents: query.getAll('agent').filter(Boolean),
    risk: get('risk'),
    find: get('find'),
    mine: get('mine') !== '',
    ...within,
    tab: Object.hasOwn(tabs, tab) ? (tab as Tab) : 'pending',
  }
}

/** Whether a request is among those the person wants to see. */
export function matchesView(r: Request, view: View, me = ''): boolean {
  const { kind, agents, risk, find, from = -Infinity, to = Infinity } = view
  if (kind && r.question.type !== kind) return false
  if (agents.length > 0 && !agents.includes(r.event.source_app)) return false
  if (r.askedAt < from || r.askedAt >= to) return false
  if (view.mine && me && !awaitsVoteOf(r, me)) return false
  if (risk && !isHighRisk(r)) return false
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const { question, event } = r
  const text = [
    question.question,
    event.source_app,
    event.session_id,
    callSummary(event, r.status.edited?.arguments),
    `#${r.id}`,
  ]
    .join('\n')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Whether a request waits for this person: it was put to them by name, and they have not voted. */
const awaitsVoteOf = ({ status }: Request, me: string): boolean =>
  status.status === 'pending' && (status.recipients === undefined || (status.awaiting ?? []).includes(me))

/** Whether the view leaves anything out. */
export const isFiltered = (v: View): boolean =>
  !!(v.kind || v.risk || v.find || v.mine || v.from || v.to) || v.agents.length > 0

export function filterLists(all: Lists, view: View, me = ''): Lists {
  if (!isFiltered(view)) return all
  const few = (list: Request[]) => list.filter((r) => matchesView(r, view, me))
  return {
    undelivered: few(all.undelivered),
    needs: few(all.needs),
    votes: few(all.votes),
    snoozed: few(all.snoozed),
    settled: few(all.settled),
    duplicates: all.duplicates,
  }
}

/** The requests of a list in the order in which J and K go through them. */
export const visibleOrder = (l: Lists): Request[] => [
  ...l.undelivered,
  ...l.needs,
  ...l.votes,
  ...l.snoozed,
  ...l.settled,
]

/**
 * Why a request can't be approved together with others; undefined when it can.
 * What is risky is never among them: it is looked at by itself, and held.
 */
export function bulkBlocker(r: Request): string | undefined {
  if (r.status.status !== 'pending' || r.status.held || r.submission) return 'It is settled already.'
  if (r.status.waiter === 'lost') return 'The agent is gone: nobody waits for it.'
  if (r.question.type !== 'permission') return 'Only permissions can be approved together.'
  if (isHighRisk(r)) return 'High risk is looked at by itself, and held.'
  if (r.question.reasonRequired === 'always') return 'The agent wants a reason with the answer.'
  if ((r.status.requiredApprovals ?? 1) > 1) return 'It takes several votes.'
  if (r.event.payloadTruncated && !r.question.toolCall) return 'It is too long for a list.'
  return undefined
}
