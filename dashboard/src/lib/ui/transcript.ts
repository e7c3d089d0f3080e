import { isNumber, isObject, parseJson, toJson } from '../api/exactJson'
import type { Tokens } from '../api/schema'
import type { Json, JsonObject } from '../api/types'

// Parses the chat of an event into messages. The formats of agents change, so unknown
// lines are kept unchanged and nothing is dropped.

export type Role = 'user' | 'assistant' | 'system' | 'summary' | 'other'

export interface Image {
  type: string
  /** The decoded size; 0 if the data is not included. */
  bytes: number
}

export interface Result {
  text: string
  images: Image[]
  failed: boolean
}

export type Part =
  | { kind: 'text'; text: string }
  | { kind: 'thinking'; text: string }
  | { kind: 'call'; id: string; name: string; input: Json; result?: Result }
  | { kind: 'result'; id: string; result: Result }
  | { kind: 'image'; image: Image }
  | { kind: 'unknown'; name: string; value: Json }

export interface Message {
  readonly index: number
  readonly role: Role
  readonly parts: Part[]
  /** The time reported by the agent. */
  at?: number
  model?: string
  usage?: Tokens
  /** Whether it belongs to a subagent. */
  side: boolean
}

export interface Conversation {
  messages: Message[]
  calls: number
  failures: number
  usage?: Tokens
}

const str = (v: Json | undefined): string => (typeof v === 'string' ? v : '')
const num = (v: Json | undefined): number => (isNumber(v) && v >= 0 ? Number(v) : 0)

/** The lines of a chat, which is a list, an object that contains one, or JSON Lines. */
function linesOf(chat: Json): Json[] {
  if (Array.isArray(chat)) return chat
  if (isObject(chat)) {
    for (const name of ['messages', 'chat', 'transcript', 'history', 'contents']) {
      const inner = chat[name]
      if (Array.isArray(inner)) return inner
    }
    return [chat]
  }
  if (typeof chat !== 'string') return chat === null ? [] : [chat]
  return chat
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return parseJson(line) as Json
      } catch {
        return line
      }
    })
}

const roles: Record<string, Role> = {
  user: 'user',
  human: 'user',
  assistant: 'assistant',
  gemini: 'assistant',
  model: 'assistant',
  system: 'system',
  developer: 'system',
  summary: 'summary',
  tool: 'user',
  function: 'user',
}

function timeOf(line: JsonObject): number | undefined {
  const said = line.timestamp ?? line.created_at ?? line.time
  if (isNumber(said)) return said < 1e11 ? said * 1000 : Number(said)
  const at = typeof said === 'string' ? Date.parse(said) : NaN
  return Number.isNaN(at) ? undefined : at
}

function usageOf(said: Json | undefined): Tokens | undefined {
  if (!isObject(said)) return undefined
  const cacheRead = num(said.cache_read_input_tokens ?? said.cached ?? said.cache_read)
  const cacheWrite = num(said.cache_creation_input_tokens ?? said.cache_write)
  const input = num(said.input_tokens ?? said.prompt_tokens ?? said.input)
  const output = num(said.output_tokens ?? said.completion_tokens ?? said.output)
  if (input + output + cacheRead + cacheWrite === 0) return undefined
  return { input, output, cacheRead, cacheWrite }
}

const sum = (a: Tokens | undefined, b: Tokens): Tokens => ({
  input: (a?.input ?? 0) + b.input,
  output: (a?.output ?? 0) + b.output,
  cacheRead: (a?.cacheRead ?? 0) + (b.cacheRead ?? 0),
  cacheWrite: (a?.cacheWrite ?? 0) + (b.cacheWrite ?? 0),
})

function imageOf(block: JsonObject): Image {
  const source = isObject(block.source) ? block.source : block
  const data = str(source.data)
  const type = str(source.media_type) || str(block.mimeType) || 'image'
  return { type, bytes: Math.floor((data.length * 3) / 4) }
}

const isImage = (type: string) => type === 'image' || type === 'image_url' || type === 'input_image'

/** Parses a tool result into text and images. */
function resultOf(content: Json | undefined, failed: boolean): Result {
  const images: Image[] = []
  const textOf = (value: Json | undefined): string => {
    if (value === undefined || value === null) return ''
    if (typeof value === 'string') return value
    if (Array.isArray(value)) return value.map(textOf).join('\n')
    if (isObject(value) && isImage(str(value.type))) {
      images.push(imageOf(value))
      return ''
    }
    if (isObject(value) && typeof value.text === 'string') return value.text
    return toJson(value, 2)
  }
  return { text: textOf(content), images, failed }
}

function argumentsOf(text: Json | undefined): Json {
  if (typeof text !== 'string') return text ?? {}
  try {
    return parseJson(text) as Json
  } catch {
    return text
  }
}

/** Parses one block of a message's content. */
function partOf(block: Json): Part {
  if (typeof block === 'string') return { kind: 'text', text: block }
  if (!isObject(block)) return { kind: 'unknown', name: '', value: block }
  const type = str(block.type)
  switch (type) {
    case 'thinking':
    case 'reasoning':
      return { kind: 'thinking', text: str(block.thinking) || str(block.text) || str(block.content) }
    case 'redacted_thinking':
      return { kind: 'thinking', text: '' }
    case 'tool_use':
    case 'server_tool_use':
    case 'function_call':
      return {
        kind: 'call',
        id: str(block.id) && type !== 'function_call' ? str(block.id) : str(block.call_id) || str(block.id),
        name: str(block.name) || 'tool',
        input: argumentsOf(block.input ?? block.arguments),
      }
    case 'tool_result':
    case 'function_call_output': {
      const id = str(block.tool_use_id) || str(block.call_id)
      return { kind: 'result', id, result: resultOf(block.content ?? block.output, block.is_error === true) }
    }
  }
  if (isImage(type)) return { kind: 'image', image: imageOf(block) }
  if (typeof block.text === 'string' && (type === '' || type.endsWith('text')))
    return { kind: 'text', text: block.text }
  return { kind: 'unknown', name: type, value: block }
}

/** The tool calls that some formats keep outside of the content. */
function callsOf(line: JsonObject): Part[] {
  const out: Part[] = []
  for (const call of [line.tool_calls, line.toolCalls].flatMap((c) => (Array.isArray(c) ? c : []))) {
    if (!isObject(call)) continue
    const about = isObject(call.function) ? call.function : call
    const id = str(call.id)
    const name = str(about.name) || 'tool'
    const part: Part = { kind: 'call', id, name, input: argumentsOf(about.arguments ?? about.args) }
    if (call.result !== undefined) part.result = resultOf(call.result, str(call.status) === 'error')
    out.push(part)
  }
  return out
}

interface ParsedLine {
  role: Role
  parts: Part[]
  line: JsonObject
  message: JsonObject
  /** The id that the lines of one model response share. */
  id: string
}

/** Parses one line; undefined if it is not a message. */
function parseLine(raw: Json): ParsedLine | undefined {
  if (!isObject(raw)) return undefined
  // Codex wraps its messages.
  const line = str(raw.type) === 'response_item' && isObject(raw.payload) ? { ...raw, ...raw.payload } : raw
  const message = isObject(line.message) ? line.message : line
  const type = str(line.type)
  if (type === 'function_call' || type === 'function_call_output' || type === 'reasoning') {
    const role = type === 'function_call_output' ? 'user' : 'assistant'
    return { role, parts: [partOf(line)], line, message, id: '' }
  }
  const role = roles[str(message.role)] ?? roles[type]
  if (!role) return undefined
  const content = message.content ?? message.parts ?? message.text ?? line.summary
  const parts: Part[] = []
  const thought = str(message.reasoning_content) || str(message.reasoning)
  if (thought) parts.push({ kind: 'thinking', text: thought })
  if (str(message.role) === 'tool') {
    parts.push({ kind: 'result', id: str(message.tool_call_id), result: resultOf(content, false) })
  } else if (Array.isArray(content)) parts.push(...content.map(partOf))
  else if (typeof content === 'string') {
    if (content !== '') parts.push({ kind: 'text', text: content })
  } else if (isObject(content)) parts.push(partOf(content))
  parts.push(...callsOf(message))
  if (parts.length === 0) return undefined
  return { role, parts, line, message, id: role === 'assistant' ? str(message.id) : '' }
}

/** Assembles messages: merges the lines of one response, and attaches results to their calls. */
export class TranscriptParser {
  readonly messages: Message[] = []
  calls = 0
  failures = 0
  usage: Tokens | undefined

  private readonly open = new Map<string, Part & { kind: 'call' }>()
  private readonly counted = new Set<string>()
  private lastId = ''

  take(raw: Json): void {
    const understood = parseLine(raw)
    if (!understood) return this.keep(raw)
    const { role, line, message, id } = understood
    const parts = understood.parts.filter((part) => !this.attachResult(part))
    const usage = this.count(usageOf(message.usage ?? message.tokens), id)
    if (parts.length === 0) return
    const last = this.messages.at(-1)
    if (last && id !== '' && id === this.lastId && last.role === role) {
      last.parts.push(...parts)
      return
    }
    this.lastId = id
    const at = timeOf(line)
    const model = str(message.model)
    this.messages.push({
      index: this.messages.length,
      role,
      parts,
      side: line.isSidechain === true,
      ...(at === undefined ? {} : { at }),
      ...(model ? { model } : {}),
      ...(usage ? { usage } : {}),
    })
  }

  /** Keeps a line that is not a message; consecutive ones share a message. */
  private keep(value: Json): void {
    const name = isObject(value) ? str(value.type) || str(value.role) : ''
    const part: Part =
      typeof value === 'string' ? { kind: 'text', text: value } : { kind: 'unknown', name, value }
    const last = this.messages.at(-1)
    if (last?.role === 'other') last.parts.push(part)
    else this.messages.push({ index: this.messages.length, role: 'other', parts: [part], side: false })
  }

  /** Attaches a result to its call. Returns whether it found the call. */
  private attachResult(part: Part): boolean {
    if (part.kind === 'call') {
      this.calls++
      if (part.result?.failed) this.failures++
      if (part.id) this.open.set(part.id, part)
    }
    if (part.kind !== 'result') return false
    if (part.result.failed) this.failures++
    const call = this.open.get(part.id)
    if (!call || call.result) return false
    call.result = part.result
    return true
  }

  /** Adds the usage once per response, because each of its lines repeats it. */
  private count(usage: Tokens | undefined, id: string): Tokens | undefined {
    if (!usage) return undefined
    if (id === '' || !this.counted.has(id)) this.usage = sum(this.usage, usage)
    if (id) this.counted.add(id)
    return usage
  }
}

export function parseTranscript(chat: Json): Conversation {
  const reader = new TranscriptParser()
  for (const line of linesOf(chat)) reader.take(line)
  const { messages, calls, failures, usage } = reader
  return { messages, calls, failures, ...(usage ? { usage } : {}) }
}

function wordsOf(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'thinking':
      return part.text
    case 'call':
      return `${part.name}\n${toJson(part.input)}\n${part.result?.text ?? ''}`
    case 'result':
      return part.result.text
    case 'image':
      return part.image.type
    case 'unknown':
      return toJson(part.value)
  }
}

/** The indexes of the messages that contain a text, ignoring case. */
export function search(messages: readonly Message[], text: string): number[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return []
  return messages
    .filter((m) => m.parts.some((p) => wordsOf(p).toLowerCase().includes(wanted)))
    .map((m) => m.index)
}
