import { lapse, timeOfDay } from '../clock'
import { isPrompt } from '../events'
import { kindNames, verdictOf, type Tone } from '../inbox/verdict'
import { requestOf } from '../requests'
import type { Session as Sums } from '../schema'
import type { AgentState } from '../agents'
import { pieces } from '../visible'
import { lengthOf, lineFor, union, type Bar, type Session } from './lanes'

export interface Word {
  word: string
  tone: Tone
}

const callWords: Partial<Record<Bar['state'], Word>> = {
  running: { word: 'running', tone: 'plain' },
  failed: { word: 'failed', tone: 'fail' },
  denied: { word: 'denied', tone: 'no' },
  lost: { word: 'end not told', tone: 'plain' },
}

/** How a bar stands, undefined where there is nothing to say: it went well. */
export function wordFor(bar: Bar, session: Session): Word | undefined {
  if (bar.kind !== 'wait') return callWords[bar.state]
  const status = session.statusOf(bar)
  const request = requestOf(status ? { ...bar.event, humanInTheLoopStatus: status } : bar.event)
  if (!request) return undefined
  const { word, tone } = verdictOf(request)
  return { word: word === 'Needs you' ? 'needs you' : word.slice(0, 40), tone }
}

/** What a bar is called. */
export function nameOf(bar: Bar): string {
  if (bar.kind === 'call') return bar.tool ?? 'Tool'
  if (bar.kind === 'wait') return kindNames[bar.event.humanInTheLoop?.type ?? 'question']
  const { hook_event_type: type } = bar.event
  return type === 'UserPromptSubmit' && !isPrompt(bar.event) ? 'Background task' : type
}

/** A length of time: "11 ms", "1.2 s", "14 s", "2 min 4 s", "3 h 20 min". */
export function length(ms: number): string {
  if (ms < 59_500) return lapse(ms)
  const s = Math.round(ms / 1000)
  const [big, small, units] =
    s < 3600 ? [60, 1, ['min', 's']] : s < 86_400 ? [3600, 60, ['h', 'min']] : [86_400, 3600, ['d', 'h']]
  const rest = Math.floor((s % Number(big)) / Number(small))
  return `${Math.floor(s / Number(big))} ${units[0]}` + (rest > 0 ? ` ${rest} ${units[1]}` : '')
}

/** How long a call waited for a human; 0 where it did not. */
export const waitedIn = (bar: Bar, now: number): number => union(bar.waits ?? [], now, bar.end ?? now)

/** A bar in one sentence, to be heard. */
export function spokenBar(bar: Bar, session: Session, now: number): string {
  const word = wordFor(bar, session)?.word ?? (bar.kind === 'call' ? 'done' : '')
  const parts = [nameOf(bar), lineFor(bar).slice(0, 120), word]
  if (bar.kind !== 'mark') parts.push(length(lengthOf(bar, now)))
  const waited = waitedIn(bar, now)
  if (waited > 0) parts.push(`waited for a human ${length(waited)}`)
  if (session.lanes.length > 1) parts.push(bar.lane.name)
  parts.push(timeOfDay(bar.start))
  return parts.filter((p) => p !== '').join(', ')
}

/** Text for a canvas: what would not be seen is written out, for nothing else marks it there. */
export function plainText(text: string): string {
  return pieces(text.replaceAll(/\s+/g, ' '))
    .map((p) => (p.mark ? `[${p.mark}]` : p.text))
    .join('')
}

/** What a session is doing, as its sums tell. */
export function sessionState(s: Pick<Sums, 'pending' | 'ended' | 'lastAt'>, now: number): AgentState {
  if (s.pending > 0) return 'needs-you'
  if (s.ended) return 'ended'
  return now - s.lastAt < 60_000 ? 'working' : 'idle'
}

export const stateWords: Record<AgentState, string> = {
  'needs-you': 'needs you',
  undelivered: 'not delivered',
  working: 'working',
  idle: 'idle',
  ended: 'ended',
}

/** "1 call", "12 calls" */
export const count = (n: number, one: string, many = one + 's'): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`

/** Money as the agent reported it: "$0.04", "$12.30", "< $0.01". */
export function dollars(usd: number): string {
  if (usd > 0 && usd < 0.01) return '< $0.01'
  return '$' + usd.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

/** A directory, its home written short. */
export const shortDir = (cwd: string): string => cwd.replace(/^\/(?:home|Users)\/[^/]+(?=\/|$)/, '~')
