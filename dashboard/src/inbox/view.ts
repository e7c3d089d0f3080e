import { risky, type Lists, type Request } from '../requests'
import { aboutOf } from './exact'

/** What of the inbox is shown; it stands in the URL. */
export interface View {
  kind: string
  agent: string
  risk: string
  find: string
  tab: Tab
}

export type Tab = 'pending' | 'decided' | 'expired' | 'cancelled'

/** The tabs, and the state their requests are in at the hub. */
export const tabs: Record<Tab, { name: string; status: string }> = {
  pending: { name: 'Open', status: 'pending' },
  decided: { name: 'Decided', status: 'responded' },
  expired: { name: 'Expired', status: 'timeout' },
  cancelled: { name: 'Cancelled', status: 'error' },
}

export function viewOf(query: URLSearchParams): View {
  const get = (name: string) => query.get(name) ?? ''
  const tab = get('tab')
  return {
    kind: get('kind'),
    agent: get('agent'),
    risk: get('risk'),
    find: get('find'),
    tab: Object.hasOwn(tabs, tab) ? (tab as Tab) : 'pending',
  }
}

/** Whether a request is among those the person wants to see. */
export function fits(r: Request, { kind, agent, risk, find }: View): boolean {
  if (kind && r.question.type !== kind) return false
  if (agent && r.event.source_app !== agent) return false
  if (risk && !risky(r)) return false
  const words = find.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return true
  const { question, event } = r
  const text = [question.question, event.source_app, event.session_id, aboutOf(event), `#${r.id}`]
    .join('\n')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

export function narrow(all: Lists, view: View): Lists {
  if (!view.kind && !view.agent && !view.risk && !view.find) return all
  const few = (list: Request[]) => list.filter((r) => fits(r, view))
  return {
    undelivered: few(all.undelivered),
    needs: few(all.needs),
    votes: few(all.votes),
    snoozed: few(all.snoozed),
    settled: few(all.settled),
    same: all.same,
  }
}

/** The requests of a list in the order in which J and K go through them. */
export const inOrder = (l: Lists): Request[] => [
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
export function apart(r: Request): string | undefined {
  if (r.status.status !== 'pending' || r.status.held || r.sending) return 'It is settled already.'
  if (r.status.waiter === 'lost') return 'The agent is gone: nobody waits for it.'
  if (r.question.type !== 'permission') return 'Only permissions can be approved together.'
  if (risky(r)) return 'High risk is looked at by itself, and held.'
  if (r.question.reasonRequired === 'always') return 'The agent wants a reason with the answer.'
  if ((r.status.requiredApprovals ?? 1) > 1) return 'It takes several votes.'
  if (r.event.payloadTruncated && !r.question.toolCall) return 'It is too long for a list.'
  return undefined
}
