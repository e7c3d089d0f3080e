import { formatLongDuration, formatWait, timeOfDay } from '../../lib/format/clock'
import { isPrompt } from '../../lib/stream/eventView'
import { requestOutcome, type Tone } from '../../lib/format/outcome'
import { kindNames } from '../../lib/format/text'
import { toRequest } from '../../lib/stream/requests'
import type { Session as SessionSummary } from '../../lib/api/schema'
import { agentState, type AgentRequests, type AgentState } from '../../lib/stream/agents'
import { barDuration, barLine, unionDuration, type Bar, type Session } from './timeline'
import { timelineText } from './text'

export { formatCount } from './text'

export interface BarStatus {
  label: string
  tone: Tone
}

const { states } = timelineText
const callStatuses: Partial<Record<Bar['state'], BarStatus>> = {
  running: { label: states.running, tone: 'plain' },
  failed: { label: states.failed, tone: 'fail' },
  denied: { label: states.denied, tone: 'no' },
  unanswered: { label: states.unanswered, tone: 'plain' },
  lost: { label: states.lost, tone: 'plain' },
}

/** The status of a bar; undefined for marks and for calls that succeeded. */
export function barStatus(bar: Bar, session: Session): BarStatus | undefined {
  const wait = bar.waits?.at(-1)
  if (wait && (bar.state === 'unanswered' || (bar.state === 'running' && wait.state === 'waiting'))) {
    const status = barStatus(wait, session) // no answer, dismissed, or the agent is gone
    return status && { ...status, label: status.label.charAt(0).toLowerCase() + status.label.slice(1) }
  }
  if (bar.kind !== 'wait') return callStatuses[bar.state]
  const status = session.statusOf(bar)
  const request = toRequest(status ? { ...bar.event, humanInTheLoopStatus: status } : bar.event)
  if (!request) return undefined
  const { label, tone } = requestOutcome(request)
  return { label: label === 'Needs you' ? timelineText.needsYou : label.slice(0, 40), tone }
}

/** The name of a bar: its tool, kind of request, or type of event. */
export function barName(bar: Bar): string {
  if (bar.kind === 'call') return bar.tool ?? timelineText.tool
  if (bar.kind === 'wait') return kindNames[bar.event.humanInTheLoop?.type ?? 'question']
  const { hook_event_type: type } = bar.event
  return type === 'UserPromptSubmit' && !isPrompt(bar.event) ? timelineText.backgroundTask : type
}

/** How long a call waited for a person, in ms. */
export const waitTime = (bar: Bar, now: number): number => unionDuration(bar.waits ?? [], now, bar.end ?? now)

/** A description of a bar for screen readers. */
export function barDescription(bar: Bar, session: Session, now: number): string {
  const status = barStatus(bar, session)?.label ?? (bar.kind === 'call' ? timelineText.done : '')
  const parts = [barName(bar), barLine(bar).slice(0, 120), status]
  if (bar.kind !== 'mark') parts.push(formatLongDuration(barDuration(bar, now)))
  const waited = waitTime(bar, now)
  if (waited > 0) parts.push(timelineText.waitedForPerson(formatWait(waited)))
  if (session.lanes.length > 1) parts.push(bar.lane.name)
  parts.push(timeOfDay(bar.start))
  return parts.filter((p) => p !== '').join(', ')
}

/** The state of a session, from its summary and, if the page has them, its requests. */
export function sessionState(
  s: Pick<SessionSummary, 'pending' | 'ended' | 'lastAt'> &
    Partial<Pick<SessionSummary, 'events' | 'asked'>> & { frozen?: boolean },
  now: number,
  { asks, waitsSince, lostAt }: AgentRequests = {},
): AgentState {
  const pending = s.pending > 0 && waitsSince === undefined && lostAt === undefined
  // A program that only asks reports no work, such as hookback ask.
  const phase = s.asked && s.events === s.asked ? 'no_turn' : undefined
  return agentState(
    { ...s, asks: asks !== undefined || pending, waits: waitsSince !== undefined, lostAt, phase },
    now,
  )
}

/** A path below a directory, or else with ~ for a home directory. */
export const shortPath = (path: string, cwd: string): string =>
  cwd && path.startsWith(cwd + '/') ? path.slice(cwd.length + 1) : shortDir(path)

/** A directory, with ~ for a home directory. */
export const shortDir = (cwd: string): string => cwd.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~')
