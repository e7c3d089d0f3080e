import { diffArrays } from 'diff'
import { gistOf } from '../events'
import type { Event, Json, JsonObject } from '../types'

/** What exactly will happen when a person says yes. */
export interface Exact {
  tool: string
  /** The call's arguments, for the raw view and for editing. */
  args: Json | undefined
  /** A command line, whole. */
  command?: string
  /** Changes of files. */
  changes: Change[]
  /** Everything else there is to know about the call. */
  rest: [name: string, value: Json][]
  cwd?: string
}

export interface Change {
  file?: string
  lines: DiffLine[]
}

export interface DiffLine {
  kind: 'add' | 'del' | 'same' | 'head'
  text: string
  /** Line numbers before and after. */
  old?: number
  new?: number
}

const isObject = (v: Json | undefined): v is JsonObject =>
  v !== null && typeof v === 'object' && !Array.isArray(v)

const text = (v: Json | undefined): string | undefined => (typeof v === 'string' ? v : undefined)

/**
 * Finds the call behind a request: in toolCall, else in the payload of a coding
 * agent's hook. undefined when the question stands for itself.
 */
export function exactOf(e: Event): Exact | undefined {
  const context = e.humanInTheLoop?.context
  const call = e.humanInTheLoop?.toolCall
  const tool = call?.name ?? e.tool_name ?? text(e.payload.tool_name)
  const args = call ? call.arguments : e.payload.tool_input
  const changes = context?.diff ? parseDiff(context.diff) : []
  if (!tool && args === undefined && changes.length === 0) return undefined
  const exact: Exact = {
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

function readArguments(exact: Exact, args: JsonObject): void {
  const used = new Set<string>()
  for (const name of ['command', 'cmd', 'script']) {
    const value = args[name]
    if (exact.command !== undefined || (typeof value !== 'string' && !Array.isArray(value))) continue
    exact.command = Array.isArray(value) ? value.map(quoted).join(' ') : value
    used.add(name)
  }
  if (exact.changes.length === 0) for (const name of readChange(exact, args)) used.add(name)
  exact.rest = Object.entries(args).filter(([name]) => !used.has(name))
}

/** A word of a command given as a list, so that it can't be mistaken for two. */
function quoted(word: Json): string {
  const s = String(word)
  return /^[\w@%+=:,./-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`
}

/** Reads the edits of a file; returns the names of the arguments it has shown. */
function readChange(exact: Exact, args: JsonObject): string[] {
  const file = text(args.file_path) ?? text(args.path)
  const before = text(args.old_string)
  const after = text(args.new_string)
  if (before !== undefined && after !== undefined) {
    exact.changes.push({ file, lines: compare(before, after) })
    return ['file_path', 'path', 'old_string', 'new_string']
  }
  if (Array.isArray(args.edits) && args.edits.length > 0 && args.edits.every(isEdit)) {
    for (const edit of args.edits.filter(isEdit)) {
      exact.changes.push({ file, lines: compare(edit.old_string, edit.new_string) })
    }
    return ['file_path', 'path', 'edits']
  }
  const content = text(args.content)
  if (file !== undefined && content !== undefined) {
    exact.changes.push({ file, lines: compare('', content) })
    return ['file_path', 'path', 'content']
  }
  return []
}

function isEdit(v: Json): v is JsonObject & { old_string: string; new_string: string } {
  return (
    isObject(v) &&
    Object.keys(v).every((k) => k === 'old_string' || k === 'new_string') &&
    typeof v.old_string === 'string' &&
    typeof v.new_string === 'string'
  )
}

/** The lines of two texts, those that differ marked. Nothing is left out. */
export function compare(before: string, after: string): DiffLine[] {
  const signs = diffArrays(linesOf(before), linesOf(after)).flatMap((part) =>
    part.value.map((line) => (part.added ? '+' : part.removed ? '-' : ' ') + line),
  )
  const lines = numbered(signs, 1, 1)
  const [had, has] = [before.endsWith('\n'), after.endsWith('\n')]
  if (before !== '' && after !== '' && had !== has) {
    lines.push({
      kind: 'head',
      text: has ? '(a line feed is added at the end)' : '(the line feed at the end goes)',
    })
  }
  return lines
}

/** A line feed at the end begins no further line. */
function linesOf(text: string): string[] {
  if (text === '') return []
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n')
}

function numbered(lines: string[], oldStart: number, newStart: number): DiffLine[] {
  let o = oldStart
  let n = newStart
  return lines.map((line): DiffLine => {
    const body = line.slice(1)
    switch (line[0]) {
      case '+':
        return { kind: 'add', text: body, new: n++ }
      case '-':
        return { kind: 'del', text: body, old: o++ }
      case '\\':
        return { kind: 'head', text: line }
      default:
        return { kind: 'same', text: body, old: o++, new: n++ }
    }
  })
}

/**
 * Reads a unified diff. What it doesn't understand is shown as it is: a diff that
 * is only nearly one must not lose a line.
 */
export function parseDiff(diff: string): Change[] {
  const changes: Change[] = []
  let current: Change | undefined
  let o = 0
  let n = 0
  /** Between "diff --git" and the first hunk: modes, index, renames. */
  let preamble = false
  const open = (file?: string): Change => {
    current = { file, lines: [] }
    changes.push(current)
    return current
  }
  const lines = diff.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const [i, line] of lines.entries()) {
    const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(line)
    const next = lines[i + 1]
    if (line.startsWith('diff --git ') || (line.startsWith('--- ') && next?.startsWith('+++ '))) {
      const started = current && current.lines.every((l) => l.kind === 'head')
      const change = started && line.startsWith('--- ') && current ? current : open()
      change.lines.push({ kind: 'head', text: line })
      preamble = true
    } else if (line.startsWith('+++ ') && lines[i - 1]?.startsWith('--- ')) {
      const change = current ?? open()
      change.file = nameIn(line) ?? nameIn(lines[i - 1] ?? '')
      change.lines.push({ kind: 'head', text: line })
    } else if (hunk) {
      o = Number(hunk[1])
      n = Number(hunk[2])
      preamble = false
      ;(current ?? open()).lines.push({ kind: 'head', text: line })
    } else if (preamble) {
      current?.lines.push({ kind: 'head', text: line })
    } else {
      const change = current ?? open()
      change.lines.push(...numbered([/^[ +\-\\]/.test(line) ? line : ' ' + line], o, n))
      if (!line.startsWith('+') && !line.startsWith('\\')) o++
      if (!line.startsWith('-') && !line.startsWith('\\')) n++
    }
  }
  return changes
}

function nameIn(line: string): string | undefined {
  const name = line.slice(4).split('\t')[0]?.trim()
  return !name || name === '/dev/null' ? undefined : name.replace(/^[ab]\//, '')
}

/** One line for the list: what the request is about beside its question. */
export function aboutOf(e: Event): string {
  const exact = exactGist(e)
  return exact.join(' · ')
}

function exactGist(e: Event): string[] {
  const call = e.humanInTheLoop?.toolCall
  const tool = call?.name ?? e.tool_name ?? text(e.payload.tool_name)
  const gist = gistOf(call ? call.arguments : e.payload.tool_input)?.replace(/\s+/g, ' ')
  return [tool, gist].filter((part): part is string => part !== undefined && part !== '')
}
