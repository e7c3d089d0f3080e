import { mainArgument } from '../eventView'
import type { Event, Json, JsonObject } from '../types'

/** What exactly will happen when a person says yes. */
export interface CallPreview {
  tool: string
  /** The call's arguments, for the raw view and for editing. */
  args: Json | undefined
  /** A command line, whole. */
  command?: string
  /** A plan to be approved, as Markdown. */
  plan?: string
  /** Changes of files. */
  changes: ChangeSource[]
  /** Everything else there is to know about the call. */
  rest: [name: string, value: Json][]
  /** JSON pointer of the command in the arguments. */
  commandAt?: string
  cwd?: string
}

/** A change of a file as the call has it; changesOf makes lines of it. */
export type ChangeSource =
  | { kind: 'texts'; file?: string; before: string; after: string; at: string; note?: string }
  | { kind: 'unified'; text: string; at?: string }
  | { kind: 'patch'; text: string; at: string }

const isObject = (v: Json | undefined): v is JsonObject =>
  v !== null && typeof v === 'object' && !Array.isArray(v)

const text = (v: Json | undefined): string | undefined => (typeof v === 'string' ? v : undefined)

/**
 * Finds the call behind a request: in toolCall, else in the payload of a coding
 * agent's hook. undefined when the question stands for itself.
 */
export function callPreview(e: Event): CallPreview | undefined {
  const context = e.humanInTheLoop?.context
  const call = e.humanInTheLoop?.toolCall
  // What a tool that only asks would be called with are the questions themselves.
  const asks = !call && (e.humanInTheLoop?.questions?.length ?? 0) > 0
  const tool = asks ? undefined : (call?.name ?? e.tool_name ?? text(e.payload.tool_name))
  const args = asks ? undefined : call ? call.arguments : e.payload.tool_input
  const changes: ChangeSource[] = context?.diff ? [{ kind: 'unified', text: context.diff }] : []
  if (!tool && args === undefined && changes.length === 0) return undefined
  const exact: CallPreview = {
    tool: tool ?? '',
    args,
    changes,
    rest: [],
    cwd: context?.cwd ?? text(e.payload.cwd),
  }
  if (isObject(args)) readArguments(exact, args)
  else if (args !== undefined && args !== null) exact.rest.push(['argument', args])
  return exact
}

function readArguments(exact: CallPreview, args: JsonObject): void {
  const used = new Set<string>()
  const plan = text(args.plan)
  if (/^exit_?plan_?mode$/i.test(exact.tool) && plan?.trim()) {
    exact.plan = plan
    used.add('plan')
  }
  if (exact.changes.length === 0) for (const name of readEdits(exact, args)) used.add(name)
  for (const name of ['command', 'cmd', 'script']) {
    const value = args[name]
    if (exact.command !== undefined || used.has(name)) continue
    if (typeof value !== 'string' && !(Array.isArray(value) && value.every((v) => typeof v === 'string')))
      continue
    exact.command = Array.isArray(value) ? value.map(quoteArg).join(' ') : value
    exact.commandAt = '/' + name
    used.add(name)
  }
  exact.rest = Object.entries(args).filter(([name]) => !used.has(name))
}

/** A word of a command given as a list, so that it can't be mistaken for two. */
function quoteArg(word: Json): string {
  const s = String(word)
  return /^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`
}

/** Reads the edits of a file; returns the names of the arguments it has shown. */
function readEdits(exact: CallPreview, args: JsonObject): string[] {
  const named = ['file_path', 'path', 'notebook_path'].find((name) => text(args[name]) !== undefined)
  const file = named && text(args[named])
  const shown = (...names: string[]) => (named ? [named, ...names] : names)
  const patch = findPatch(args)
  if (patch) {
    exact.changes.push({ kind: 'patch', ...patch })
    return [patch.at.split('/')[1] ?? '']
  }
  const before = text(args.old_string)
  const after = text(args.new_string)
  if (before !== undefined && after !== undefined) {
    exact.changes.push({ kind: 'texts', file, before, after, at: '/new_string' })
    return shown('old_string', 'new_string')
  }
  if (Array.isArray(args.edits) && args.edits.length > 0 && args.edits.every(isEdit)) {
    for (const [i, edit] of args.edits.filter(isEdit).entries()) {
      const note = edit.replace_all === true ? 'every occurrence' : undefined
      const [before, after] = [edit.old_string, edit.new_string]
      exact.changes.push({ kind: 'texts', file, before, after, at: `/edits/${i}/new_string`, note })
    }
    return shown('edits')
  }
  for (const name of ['content', 'new_source']) {
    const content = text(args[name])
    if (file === undefined || content === undefined) continue
    const note = name === 'new_source' ? cellNote(args) : undefined
    exact.changes.push({ kind: 'texts', file, before: '', after: content, at: '/' + name, note })
    return shown(name)
  }
  return []
}

/** What is known of the cell whose new source a notebook's edit gives: not its old one. */
function cellNote(args: JsonObject): string {
  const cell = text(args.cell_id) ?? (typeof args.cell_number === 'number' ? String(args.cell_number) : '')
  const mode = text(args.edit_mode) ?? 'replace'
  const what = mode === 'replace' ? 'replaces the source of' : mode === 'delete' ? 'deletes' : 'inserts'
  return `${what} cell ${cell}`.trimEnd()
}

const PATCH = '*** Begin Patch'

/** A patch as apply_patch takes it, wherever it stands: alone, or as a word of a command. */
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
 * One line for the list: what the request is about beside its question.
 * edited: the arguments that a voter made of the call's.
 */
export function callSummary(e: Event, edited?: Record<string, unknown>): string {
  return summaryParts(e, edited as JsonObject | undefined).join(' · ')
}

function summaryParts(e: Event, edited?: Json): string[] {
  const call = e.humanInTheLoop?.toolCall
  const tool = call?.name ?? e.tool_name ?? text(e.payload.tool_name)
  const gist = mainArgument(edited ?? (call ? call.arguments : e.payload.tool_input))?.replace(/\s+/g, ' ')
  return [tool, gist].filter((part): part is string => part !== undefined && part !== '')
}
