import { firstText } from '../stream/eventView'
import type { Event, Json, JsonObject } from '../api/types'
import { requestText } from './text'

/** The call that an approval would run, prepared for display. */
export interface CallPreview {
  tool: string
  /** The call's arguments, for the raw view and for editing. */
  args: Json | undefined
  /** The full command line. */
  command?: string
  /** The plan to approve, as Markdown. */
  plan?: string
  /** File changes. */
  changes: ChangeSource[]
  /** All other arguments. */
  rest: [name: string, value: Json][]
  /** JSON pointer of the command in the arguments. */
  commandAt?: string
  cwd?: string
}

/** A file change as the call contains it; fileChanges turns it into lines. */
export type ChangeSource =
  | { kind: 'texts'; file?: string; before: string; after: string; at: string; note?: string }
  | { kind: 'unified'; text: string; at?: string }
  | { kind: 'patch'; text: string; at: string }

const isObject = (v: Json | undefined): v is JsonObject =>
  v !== null && typeof v === 'object' && !Array.isArray(v)

const text = (v: Json | undefined): string | undefined => (typeof v === 'string' ? v : undefined)

/** The arguments of a request's call. Large ones are in the payload, at the JSON Pointer argumentsRef. */
function callArguments(e: Event): Json | undefined {
  const call = e.humanInTheLoop?.toolCall
  if (!call) return e.payload.tool_input
  if (call.arguments !== undefined || !call.argumentsRef) return call.arguments
  let value: Json | undefined = e.payload
  for (const step of call.argumentsRef.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const at: object | undefined = value !== null && typeof value === 'object' ? value : undefined
    value = at && Object.hasOwn(at, name) ? (at as JsonObject)[name] : undefined
  }
  return value
}

/**
 * Extracts the call behind a request, from toolCall or from the payload of the hook.
 * undefined if the question has no call.
 */
export function callPreview(e: Event): CallPreview | undefined {
  const context = e.humanInTheLoop?.context
  const call = e.humanInTheLoop?.toolCall
  // The arguments of a tool that only asks are the questions themselves.
  const asks = !call && (e.humanInTheLoop?.questions?.length ?? 0) > 0
  const tool = asks ? undefined : (call?.name ?? e.tool_name ?? text(e.payload.tool_name))
  const args = asks ? undefined : callArguments(e)
  const changes: ChangeSource[] = context?.diff ? [{ kind: 'unified', text: context.diff }] : []
  if (!tool && args === undefined && changes.length === 0) return undefined
  const preview: CallPreview = {
    tool: tool ?? '',
    args,
    changes,
    rest: [],
    cwd: context?.cwd ?? text(e.payload.cwd),
  }
  if (isObject(args)) readArguments(preview, args)
  else if (args !== undefined && args !== null) preview.rest.push(['argument', args])
  return preview
}

function readArguments(preview: CallPreview, args: JsonObject): void {
  const used = new Set<string>()
  const plan = text(args.plan)
  if (/^exit_?plan_?mode$/i.test(preview.tool) && plan?.trim()) {
    preview.plan = plan
    used.add('plan')
  }
  if (preview.changes.length === 0) for (const name of readEdits(preview, args)) used.add(name)
  for (const name of ['command', 'cmd', 'script']) {
    const value = args[name]
    if (preview.command !== undefined || used.has(name)) continue
    if (typeof value !== 'string' && !(Array.isArray(value) && value.every((v) => typeof v === 'string')))
      continue
    preview.command = Array.isArray(value) ? value.map(quoteArg).join(' ') : value
    preview.commandAt = '/' + name
    used.add(name)
  }
  preview.rest = Object.entries(args).filter(([name]) => !used.has(name))
}

/** Quotes one argument of a command list for display as a command line. */
function quoteArg(word: Json): string {
  const s = String(word)
  return /^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`
}

/** Adds the file edits to the preview. Returns the names of the arguments it used. */
function readEdits(preview: CallPreview, args: JsonObject): string[] {
  const named = ['file_path', 'path', 'notebook_path'].find((name) => text(args[name]) !== undefined)
  const file = named && text(args[named])
  const shown = (...names: string[]) => (named ? [named, ...names] : names)
  const patch = findPatch(args)
  if (patch) {
    preview.changes.push({ kind: 'patch', ...patch })
    return [patch.at.split('/')[1] ?? '']
  }
  const before = text(args.old_string)
  const after = text(args.new_string)
  if (before !== undefined && after !== undefined) {
    preview.changes.push({ kind: 'texts', file, before, after, at: '/new_string' })
    return shown('old_string', 'new_string')
  }
  if (Array.isArray(args.edits) && args.edits.length > 0 && args.edits.every(isEdit)) {
    for (const [i, edit] of args.edits.filter(isEdit).entries()) {
      const note = edit.replace_all === true ? requestText.call.everyOccurrence : undefined
      const [before, after] = [edit.old_string, edit.new_string]
      preview.changes.push({ kind: 'texts', file, before, after, at: `/edits/${i}/new_string`, note })
    }
    return shown('edits')
  }
  for (const name of ['content', 'new_source']) {
    const content = text(args[name])
    if (file === undefined || content === undefined) continue
    const note = name === 'new_source' ? cellNote(args) : undefined
    preview.changes.push({ kind: 'texts', file, before: '', after: content, at: '/' + name, note })
    return shown(name)
  }
  return []
}

/** Describes a notebook edit, which does not contain the old source of the cell. */
function cellNote(args: JsonObject): string {
  const cell = text(args.cell_id) ?? (typeof args.cell_number === 'number' ? String(args.cell_number) : '')
  const mode = text(args.edit_mode) ?? 'replace'
  return requestText.call.cell(mode, cell)
}

const PATCH = '*** Begin Patch'

/** Finds an apply_patch patch in a separate argument or inside the command. */
function findPatch(args: JsonObject): { text: string; at: string } | undefined {
  for (const name of ['input', 'patch']) {
    const value = text(args[name])
    if (value?.trimStart().startsWith(PATCH)) return { text: value, at: '/' + name }
  }
  const { command } = args
  if (!Array.isArray(command) || command.length !== 2 || command[0] !== 'apply_patch') return undefined
  const patch = text(command[1])
  return patch?.trimStart().startsWith(PATCH) ? { text: patch, at: '/command/1' } : undefined
}

function isEdit(v: Json): v is JsonObject & { old_string: string; new_string: string } {
  if (!isObject(v) || typeof v.old_string !== 'string' || typeof v.new_string !== 'string') return false
  return Object.entries(v).every(
    ([k, inner]) =>
      k === 'old_string' || k === 'new_string' || (k === 'replace_all' && typeof inner === 'boolean'),
  )
}

/**
 * The tool and its main argument in one line, for the list.
 * edited: the arguments as edited by a voter.
 */
export function callSummary(e: Event, edited?: Record<string, unknown>): string {
  return summaryParts(e, edited as JsonObject | undefined).join(' · ')
}

function summaryParts(e: Event, edited?: Json): string[] {
  const call = e.humanInTheLoop?.toolCall
  const tool = call?.name ?? e.tool_name ?? text(e.payload.tool_name)
  const mainLine = firstText(edited ?? callArguments(e))?.replace(/\s+/g, ' ')
  return [tool, mainLine].filter((part): part is string => part !== undefined && part !== '')
}
