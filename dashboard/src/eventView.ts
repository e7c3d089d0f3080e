import { uidTime } from './clock'
import { fold, toolOf } from './filter'
import type { Event, Json } from './types'

/** How an event is drawn in the stream. */
export type EventStyle = 'prompt' | 'tool' | 'done' | 'fail' | 'ask' | 'session' | 'note' | 'other'

const stylesByType: Record<string, EventStyle> = {
  UserPromptSubmit: 'prompt',
  PreToolUse: 'tool',
  PostToolUse: 'done',
  PostToolUseFailure: 'fail',
  PermissionRequest: 'ask',
  PermissionDenied: 'fail',
  StopFailure: 'fail',
  Notification: 'note',
  PreCompact: 'note',
  PostCompact: 'note',
  SessionStart: 'session',
  SessionEnd: 'session',
  Stop: 'session',
  SubagentStart: 'session',
  SubagentStop: 'session',
}

const reports = new Set(['ApiRequest', 'ApiUsage', 'StatusLine'])

/** Whether an event reports what was done before, seconds late: an agent's telemetry. */
export const isTelemetry = (e: Event): boolean => reports.has(e.hook_event_type)

/** Whether a person said this. Claude Code is told by a prompt, too, that a task in the background has ended. */
export const isPrompt = (e: Event): boolean =>
  e.hook_event_type === 'UserPromptSubmit' &&
  !(str(e.payload.prompt) ?? '').trimStart().startsWith('<task-notification>')

export function eventStyle(e: Event): EventStyle {
  if (e.humanInTheLoop) return 'ask'
  if (e.error) return 'fail'
  if (e.hook_event_type === 'UserPromptSubmit' && !isPrompt(e)) return 'note'
  const name = e.hook_event_type
  return (Object.hasOwn(stylesByType, name) ? stylesByType[name] : undefined) ?? 'other'
}

const str = (value: Json | undefined): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined

/** The part of a tool's arguments that says most, such as the command. */
export function mainArgument(args: Json | undefined): string | undefined {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return undefined
  for (const name of [
    'command',
    'cmd',
    'script',
    'file_path',
    'notebook_path',
    'pattern',
    'path',
    'url',
    'query',
    'prompt',
    'description',
  ]) {
    const value = args[name]
    if (Array.isArray(value)) return value.map(String).join(' ')
    const text = str(value)
    if (text) return text
  }
  return undefined
}

/** One line that says what happened. */
export function summaryLine(e: Event): string {
  const { payload } = e
  return (
    str(e.summary) ??
    str(e.humanInTheLoop?.question) ??
    str(e.error) ??
    mainArgument(payload.tool_input) ??
    str(payload.prompt) ??
    str(payload.message) ??
    str(payload.error) ??
    str(payload.last_assistant_message) ??
    str(payload.reason) ??
    str(payload.source) ??
    ''
  )
}

/** The same line, where the tool's name stands beside it already. */
export function summaryWithoutTool(e: Event): string {
  const line = summaryLine(e)
  const name = `${toolOf(e) ?? ''}: `
  return name.length > 2 && line.startsWith(name) ? line.slice(name.length) : line
}

/** How much of an event words are looked for in; the hub's maxText is the same. */
const MAX_TEXT = 8000

function collect(value: Json | undefined, into: string[], budget: number): number {
  if (budget <= 0 || value === undefined || value === null) return budget
  if (typeof value === 'object') {
    for (const inner of Object.values(value)) budget = collect(inner, into, budget)
    return budget
  }
  const text = String(value).slice(0, budget)
  into.push(text)
  return budget - text.length
}

/** An event as the stream holds it: with what is needed to draw and to filter it. */
export class Entry {
  readonly id: number
  /** When the hub took it, else when the agent says it happened. Unix ms. */
  readonly at: number
  /** How long the tool call took that this is the end of, ms; undefined: not known. */
  durationMs: number | undefined
  private searched: string | undefined

  constructor(public event: Event) {
    this.id = event.id
    this.at = receivedAt(event)
  }

  /** The text that bare words of a filter look at. */
  text(): string {
    if (this.searched !== undefined) return this.searched
    const e = this.event
    const names = [e.source_app, e.session_id, e.hook_event_type, toolOf(e) ?? '']
    const parts = [...names, e.summary ?? '', e.error ?? '', summaryLine(e)]
    const budget = collect(e.humanInTheLoop as Json | undefined, parts, MAX_TEXT)
    collect(e.payload, parts, budget)
    return (this.searched = fold(parts.join('\n')))
  }
}

/** When an event came to the hub, the hub's clock where it is known. */
export const receivedAt = (e: Event): number => uidTime(e.uid) ?? e.timestamp ?? 0

/** A session's id, short enough to read aloud: a UUID's first part, a name as far as it fits. */
export function shortSession(id: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-/i.test(id)) return id.slice(0, 8)
  const own = id.replace(/^session-(?=.)/, '')
  return own.length > 20 ? own.slice(0, 19) + '…' : own
}

/** A hue of its own for every name, the same in every session. */
export function agentHue(name: string): number {
  let hash = 2166136261
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619)
  return (hash >>> 0) % 360
}
