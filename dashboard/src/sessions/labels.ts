import { formatDuration, timeOfDay } from '../clock'
import { isPrompt } from '../eventView'
import { kindNames, requestOutcome, type Tone } from '../inbox/outcome'
import { toRequest } from '../requests'
import type { Session as Sums } from '../schema'
import type { AgentState } from '../agents'
import { splitInvisible } from '../invisibleChars'
import { barDuration, barLine, unionDuration, type Bar, type Session } from './timeline'

export interface BarLabel {
  word: string
  tone: Tone
}

const callWords: Partial<Record<Bar['state'], BarLabel>> = {
  running: { word: 'running', tone: 'plain' },
  failed: { word: 'failed', tone: 'fail' },
  denied: { word: 'denied', tone: 'no' },
  lost: { word: 'end not told', tone: 'plain' },
}

/** How a bar stands, undefined where there is nothing to say: it went well. */
export function barLabel(bar: Bar, session: Session): BarLabel | undefined {
  if (bar.kind !== 'wait') return callWords[bar.state]
  const status = session.statusOf(bar)
  const request = toRequest(status ? { ...bar.event, humanInTheLoopStatus: status } : bar.event)
  if (!request) return undefined
  const { label: word, tone } = requestOutcome(request)
  return { word: word === 'Needs you' ? 'needs you' : word.slice(0, 40), tone }
}

/** What a bar is called. */
export function barName(bar: Bar): string {
  if (bar.kind === 'call') return bar.tool ?? 'Tool'
  if (bar.kind === 'wait') return kindNames[bar.event.humanInTheLoop?.type ?? 'question']
  const { hook_event_type: type } = bar.event
  return type === 'UserPromptSubmit' && !isPrompt(bar.event) ? 'Background task' : type
}

/** A length of time: "11 ms", "1.2 s", "14 s", "2 min 4 s", "3 h 20 min". */
export function formatDuration(ms: number): string {
  if (ms < 59_500) return formatDuration(ms)
  const s = Math.round(ms / 1000)
  const [big, small, units] =
    s < 3600 ? [60, 1, ['min', 's']] : s < 86_400 ? [3600, 60, ['h', 'min']] : [86_400, 3600, ['d', 'h']]
  const rest = Math.floor((s % Number(big)) / Number(small))
  return `${Math.floor(s / Number(big))} ${units[0]}` + (rest > 0 ? ` ${rest} ${units[1]}` : '')
}

/** How long a call waited for a human; 0 where it did not. */
export const waitTime = (bar: Bar, now: number): number => unionDuration(bar.waits ?? [], now, bar.end ?? now)

/** A bar in one sentence, to be heard. */
export function barDescription(bar: Bar, session: Session, now: number): string {
  const word = barLabel(bar, session)?.word ?? (bar.kind === 'call' ? 'done' : '')
  const parts = [barName(bar), barLine(bar).slice(0, 120), word]
  if (bar.kind !== 'mark') parts.push(formatDuration(barDuration(bar, now)))
  const waited = waitTime(bar, now)
  if (waited > 0) parts.push(`waited for a human ${formatDuration(waited)}`)
  if (session.lanes.length > 1) parts.push(bar.lane.name)
  parts.push(timeOfDay(bar.start))
  return parts.filter((p) => p !== '').join(', ')
}

/** Text for a canvas: what would not be seen is written out, for nothing else marks it there. */
export function escapeInvisible(text: string): string {
  return splitInvisible(text.replaceAll(/\s+/g, ' '))
    .map((p) => (p.mark ? `[${p.mark}]` : p.text))
    .join('')
}

/** What a session is doing, as its sums tell. */
export function sessionState(s: Pick<Sums, 'pending' | 'ended' | 'lastAt'>, now: number): AgentState {
  if (s.pending > 0) return 'needs-you'
  if (s.ended) return 'ended'
  return now - s.lastAt < 60_000 ? 'working' : 'idle'
}

export const stateLabels: Record<AgentState, string> = {
  'needs-you': 'needs you',
  undelivered: 'not delivered',
  working: 'working',
  idle: 'idle',
  ended: 'ended',
}

/** "1 call", "12 calls" */
export const formatCount = (n: number, one: string, many = one + 's'): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`

/** Money as the agent reported it: "$0.04", "$12.30", "< $0.01". */
export function formatDollars(usd: number): string {
  if (usd > 0 && usd < 0.01) return '< $0.01'
  return '$' + usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

/** A directory, its home written short. */
export const shortDir = (cwd: string): string => cwd.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~')
