import { isNumber, isObject } from '../api/exactJson'
import { firstText } from '../stream/eventView'
import type { CallView } from '../api/schema'
import type { Event, Json, JsonObject } from '../api/types'
import { requestText } from './text'

/** The call that an approval would run, prepared for display. */
export interface CallPreview {
  tool: string
  /** The call's arguments, for the raw view and for editing. */
  args: Json | undefined
  /** What the hub reads in the call; undefined if it has not read it. */
  view?: CallView
  /** The command lines. */
  commands: CommandLine[]
  /** The plan to approve, as Markdown. */
  plan?: string
  /** File changes. */
  changes: ChangeSource[]
  /** All other arguments. */
  rest: [name: string, value: Json][]
  cwd?: string
}

/** A command line at a JSON pointer into the arguments, and the texts of the arguments that it consists of. */
export interface CommandLine {
  text: string
  at: string
  parts: TextPart[]
}

/** Where the text at a JSON pointer starts in a longer text. */
export interface TextPart {
  at: string
  from: number
  length: number
}

/** A file change as the call contains it; fileChanges turns it into lines. */
export type ChangeSource =
  | { kind: 'texts'; file?: string; before: string; after: string; at: string; note?: string }
  | { kind: 'unified'; text: string; at?: string }
  | { kind: 'patch'; text: string; at: string }

const text = (v: Json | undefined): string | undefined => (typeof v === 'string' ? v : undefined)

/** The arguments of a request's call. Large ones are in the payload, at the JSON Pointer argumentsRef. */
function callArguments(e: Event): Json | undefined {
  const call = e.humanInTheLoop?.toolCall
  if (!call) return Object.hasOwn(e.payload, 'tool_input') ? e.payload.tool_input : e.payload.toolArgs
  return call.arguments !== undefined || !call.argumentsRef
    ? call.arguments
    : valueAt(e.payload, call.argumentsRef)
}

/** The value at a JSON pointer. */
function valueAt(value: Json | undefined, pointer: string): Json | undefined {
  for (const step of pointer.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    const at: object | undefined = value !== null && typeof value === 'object' ? value : undefined
    value = at && Object.hasOwn(at, name) ? (at as JsonObject)[name] : undefined
  }
  return value
}

/** The JSON pointer of an argument. */
export const pointerOf = (name: string): string => '/' + name.replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * Extracts the call behind a request, from toolCall or from the payload of the hook.
 * undefined if the question has no call. view: the hub's reading of it, without which nothing but
 * arguments is shown.
 */
export function callPreview(e: Event, view = e.humanInTheLoopStatus?.view): CallPreview | undefined {
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
    view,
    commands: [],
    changes,
    rest: [],
    cwd: context?.cwd ?? text(e.payload.cwd),
  }
  const source = view?.source
  const used = isObject(args) && source === undefined ? readArguments(preview, args) : new Set()
  for (const { at = '', text: joined } of view?.lines ?? []) {
    const value = valueAt(args, at)
    const line = joined ?? text(value)
    const isPatch = preview.changes.some((c) => c.kind === 'patch' && c.at === at + '/1')
    if (line !== undefined && !isPatch)
      preview.commands.push({
        text: line,
        at,
        parts: joined === undefined ? [wholePart(at, line)] : wordParts(line, value, at),
      })
  }
  // The parsed arguments lack a member that is there twice.
  if (source !== undefined) preview.rest.push([requestText.call.source, source])
  else if (isObject(args))
    preview.rest = Object.entries(args).filter(
      ([name, value]) => !used.has(name) && !isCommand(value, pointerOf(name), view),
    )
  else if (args !== undefined && args !== null) preview.rest.push(['argument', args])
  return preview
}

export const wholePart = (at: string, { length }: string): TextPart => ({ at, from: 0, length })

/** The words of a list in the line that they make. Words that are escaped in it have no place. */
function wordParts(line: string, list: Json | undefined, at: string): TextPart[] {
  let end = 0
  return (Array.isArray(list) ? list : []).flatMap((word, i) => {
    const from = typeof word === 'string' ? line.indexOf(word, end) : -1
    if (from < 0) return []
    const part = { ...wholePart(`${at}/${i}`, String(word)), from }
    end = from + part.length
    return [part]
  })
}

/** Whether an argument is nothing but command lines, or the words of one. */
function isCommand(value: Json, at: string, view: CallView | undefined): boolean {
  const lines = view?.lines?.filter((line) => (line.at ?? '') === at) ?? []
  if (!Array.isArray(value)) return typeof value === 'string' && lines.some((line) => line.text === undefined)
  if (lines.some((line) => line.text !== undefined)) return value.every((word) => typeof word === 'string')
  return value.length > 0 && value.every((item, i) => isCommand(item, `${at}/${i}`, view))
}

/** Reads the plan and the file changes. Returns the arguments that they show. */
function readArguments(preview: CallPreview, args: JsonObject): Set<string> {
  const plan = text(args.plan)
  if (/^exit_?plan_?mode$/i.test(preview.tool) && plan?.trim()) {
    preview.plan = plan
    return new Set(['plan'])
  }
  return new Set(preview.changes.length === 0 && preview.view ? readEdits(preview, args, preview.view) : [])
}

/** Adds the file edits to the preview. Returns the names of the arguments it used. */
function readEdits(preview: CallPreview, args: JsonObject, view: CallView): string[] {
  const patch = findPatch(args, view)
  if (patch) {
    preview.changes.push({ kind: 'patch', ...patch })
    return [patch.at.split('/')[1] ?? '']
  }
  const target = view.files?.find(({ op, to }) => (op === 'write' || op === 'use') && to === undefined)
  const named = Object.keys(args).find((name) => pointerOf(name) === target?.at && text(args[name]))
  const file = named === undefined ? target?.path : text(args[named])
  const shown = (...names: string[]) => (named === undefined ? names : [named, ...names])
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
  const cell = text(args.cell_id) ?? (isNumber(args.cell_number) ? String(args.cell_number) : '')
  const mode = text(args.edit_mode) ?? 'replace'
  return requestText.call.cell(mode, cell)
}

const PATCH = '*** Begin Patch'

/** Finds an apply_patch patch: an argument that is no command line, or the only word of the command apply_patch. */
function findPatch(args: JsonObject, view: CallView): { text: string; at: string } | undefined {
  for (const [name, value] of Object.entries(args)) {
    const inWords = Array.isArray(value) && value.length === 2 && value[0] === 'apply_patch'
    const patch = text(inWords ? value[1] : value)
    if (!patch?.trimStart().startsWith(PATCH)) continue
    if (inWords) return { text: patch, at: pointerOf(name) + '/1' }
    if (!view.lines?.some(({ at }) => at === pointerOf(name))) return { text: patch, at: pointerOf(name) }
  }
  return undefined
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
