import { uidTime } from '../format/clock'
import { toolOf } from './eventText'
import type { Event, Json } from '../api/types'

/** The visual style of an event in the stream. */
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

/** Whether the event stands for a session of the past, from hookback import. */
export const isImport = (e: Event): boolean => e.hook_event_type === 'SessionImported'

/** Whether an event is telemetry, which reports earlier activity with a delay. */
export const isTelemetry = (e: Event): boolean => reports.has(e.hook_event_type)

/** Whether a prompt is from a person. Claude Code also reports finished background tasks as prompts. */
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

/** The first text among the arguments of a tool call, which may be a list of words, for lines that report it. */
export function firstText(args: Json | undefined): string | undefined {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return undefined
  for (const value of Object.values(args)) {
    const line = str(
      Array.isArray(value) && value.every((v) => typeof v === 'string') ? value.join(' ') : value,
    )
    if (line !== undefined) return line
  }
  return undefined
}

/** A one-line summary of an event. */
export function summaryLine(e: Event): string {
  const { payload } = e
  return (
    str(e.summary) ??
    str(e.humanInTheLoop?.question) ??
    str(e.error) ??
    firstText(payload.tool_input) ??
    str(payload.prompt) ??
    str(payload.message) ??
    str(payload.error) ??
    str(payload.last_assistant_message) ??
    str(payload.reason) ??
    str(payload.source) ??
    ''
  )
}

/** The summary without a leading tool name, for rows that show the tool separately. */
export function summaryWithoutTool(e: Event): string {
  const line = summaryLine(e)
  const name = `${toolOf(e) ?? ''}: `
  return name.length > 2 && line.startsWith(name) ? line.slice(name.length) : line
}

/** An event with cached data for display. */
export class Entry {
  readonly id: number
  /** When the hub received it, or else the agent's timestamp. Unix ms. */
  readonly at: number
  /** Duration of the tool call that this event ends, ms; undefined if unknown. */
  durationMs: number | undefined
  /** The event that ends the tool call that this one starts, or the reverse, once the page has both. */
  other: Entry | undefined

  constructor(public event: Event) {
    this.id = event.id
    this.at = receivedAt(event)
  }
}

/** When the hub received an event, or else the agent's timestamp. Unix ms. */
export const receivedAt = (e: Event): number => uidTime(e.uid) ?? e.timestamp ?? 0

/** A shortened session id: the first part of a UUID, or a truncated name. */
export function shortSession(id: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-/i.test(id)) return id.slice(0, 8)
  const own = id.replace(/^session-(?=.)/, '')
  return own.length > 20 ? own.slice(0, 19) + '…' : own
}

const HUES = 12
/** The hues that are taken, as multiples of 360/HUES. */
const taken = new Map<string, number>()

/** A hue for a name. The first twelve names have different ones, most of them the same in every tab. */
export function agentHue(name: string): number {
  let hash = 2166136261
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619)
  let hue = taken.get(name) ?? (hash >>> 0) % HUES
  if (!taken.has(name) && taken.size < HUES) {
    const others = [...taken.values()]
    while (others.includes(hue)) hue = (hue + 1) % HUES
    taken.set(name, hue)
  }
  return (hue * 360) / HUES
}
