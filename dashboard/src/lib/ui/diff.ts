import { diffArrays, diffWordsWithSpace } from 'diff'
import type { ChangeSource } from '../format/callPreview'
import { lazyUiText } from './lazyText'

// Loaded on demand, when there is a file change to show.

export interface FileChange {
  file?: string
  /** A note such as "new file". */
  note?: string
  lines: DiffLine[]
  /** JSON pointer of the new text in the call's arguments. */
  at?: string
}

export interface DiffLine {
  kind: 'add' | 'del' | 'same' | 'head'
  text: string
  /** Line numbers before and after. */
  old?: number
  new?: number
}

/** Parses the changes into lines, without omissions. */
export const fileChanges = (sources: ChangeSource[]): FileChange[] =>
  sources.flatMap((s): FileChange[] => {
    if (s.kind === 'texts')
      return [{ file: s.file, note: s.note, at: s.at, lines: diffLines(s.before, s.after) }]
    return (s.kind === 'patch' ? parsePatch(s.text) : parseDiff(s.text)).map((c) => ({ ...c, at: s.at }))
  })

const COMPARE_FOR = 300 // ms

/** Diffs two texts by lines, without omissions. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  // Diffing long unrelated texts takes too long; then everything counts as replaced.
  const parts = diffArrays(a, b, { timeout: COMPARE_FOR }) ?? [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ]
  const signs = parts.flatMap((part) =>
    part.value.map((line) => (part.added ? '+' : part.removed ? '-' : ' ') + line),
  )
  const lines = numbered(signs, 1, 1)
  const [had, has] = [before.endsWith('\n'), after.endsWith('\n')]
  if (before !== '' && after !== '' && had !== has) {
    lines.push({
      kind: 'head',
      text: has ? lazyUiText.diff.newlineAdded : lazyUiText.diff.newlineRemoved,
    })
  }
  return lines
}

/** Splits into lines; a final line feed does not start another line. */
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
 * Parses a unified diff. Unrecognized lines are kept unchanged, so a malformed diff loses
 * nothing.
 */
export function parseDiff(diff: string): FileChange[] {
  const changes: FileChange[] = []
  let current: FileChange | undefined
  let o = 0
  let n = 0
  /** Between "diff --git" and the first hunk: modes, index, renames. */
  let preamble = false
  const open = (file?: string): FileChange => {
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

/**
 * Parses a patch in the format of apply_patch. Unrecognized lines are kept unchanged.
 */
export function parsePatch(patch: string): FileChange[] {
  const changes: FileChange[] = []
  let current: FileChange | undefined
  const lines = patch.split('\n')
  if (lines.at(-1) === '') lines.pop()
  for (const line of lines) {
    const file = /^\*\*\* (Add|Update|Delete) File: (.*)$/.exec(line)
    if (file) {
      const note = { Add: lazyUiText.diff.newFile, Update: undefined, Delete: lazyUiText.diff.deleted }[
        file[1] as 'Add'
      ]
      // Lines before the first file belong to it.
      const before = changes.length === 1 && current && current.file === undefined ? current.lines : undefined
      current = { file: file[2], note, lines: [...(before ?? []), { kind: 'head', text: line }] }
      if (before) changes[0] = current
      else changes.push(current)
    } else {
      if (!current) changes.push((current = { lines: [] }))
      current.lines.push(patchLine(line))
    }
  }
  return changes
}

function patchLine(line: string): DiffLine {
  if (line.startsWith('+')) return { kind: 'add', text: line.slice(1) }
  if (line.startsWith('-')) return { kind: 'del', text: line.slice(1) }
  if (line.startsWith(' ')) return { kind: 'same', text: line.slice(1) }
  return { kind: 'head', text: line }
}

/** A row of the side-by-side view. */
export interface LinePair {
  left?: DiffLine
  right?: DiffLine
}

/** Pairs removed lines with the added lines that replace them. */
export function pairLines(lines: DiffLine[]): LinePair[] {
  const out: LinePair[] = []
  let gone: DiffLine[] = []
  let come: DiffLine[] = []
  const flush = () => {
    for (let i = 0; i < Math.max(gone.length, come.length); i++) out.push({ left: gone[i], right: come[i] })
    ;[gone, come] = [[], []]
  }
  for (const line of lines) {
    if (line.kind === 'add') come.push(line)
    else if (line.kind === 'del') {
      if (come.length > 0) flush()
      gone.push(line)
    } else {
      flush()
      out.push({ left: line, right: line })
    }
  }
  flush()
  return out
}

/** A part of a line; changed if it differs from the paired line. */
export interface DiffWord {
  text: string
  changed: boolean
}

const LONGEST = 1000

/** Diffs two lines by words; undefined if they are too long or have little in common. */
export function diffWords(left: string, right: string): { left: DiffWord[]; right: DiffWord[] } | undefined {
  if (left.length + right.length > LONGEST) return undefined
  const parts = diffWordsWithSpace(left, right)
  const same = parts.reduce((n, p) => n + (p.added || p.removed ? 0 : p.value.trim().length), 0)
  if (same * 3 < Math.min(left.trim().length, right.trim().length)) return undefined
  const side = (other: 'added' | 'removed') =>
    parts.filter((p) => !p[other]).map((p): DiffWord => ({ text: p.value, changed: p.added || p.removed }))
  return { left: side('added'), right: side('removed') }
}
