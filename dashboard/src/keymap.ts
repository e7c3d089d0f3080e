import type { Binding } from './keys'

/** A key of the page and what it does. */
export interface Key {
  /** The usual keys, in tinykeys' notation. */
  keys: string
  does: string
  where: 'Everywhere' | 'Inbox' | 'Stream'
  /** It cannot be given other keys. */
  fixed?: boolean
}

/** Every key of the page, by its usual name: the help and the settings tell of these. */
export const keymap: readonly Key[] = [
  { keys: '$mod+k', does: 'Find a screen, an agent, a request, an action', where: 'Everywhere', fixed: true },
  { keys: 'g i', does: 'To the inbox', where: 'Everywhere' },
  { keys: 'g s', does: 'To the stream', where: 'Everywhere' },
  { keys: 'g e', does: 'To the sessions', where: 'Everywhere' },
  { keys: 'g o', does: 'To the overview', where: 'Everywhere' },
  { keys: 'g r', does: 'To the rules', where: 'Everywhere' },
  { keys: 'g u', does: 'To the setup', where: 'Everywhere' },
  { keys: 'g ,', does: 'To the settings', where: 'Everywhere' },
  { keys: '?', does: 'Show the keys of this screen', where: 'Everywhere', fixed: true },
  { keys: 'Escape', does: 'Back, close', where: 'Everywhere', fixed: true },
  { keys: 'j', does: 'Next request', where: 'Inbox' },
  { keys: 'k', does: 'Previous request', where: 'Inbox' },
  { keys: 'a', does: 'Approve (hold when it is risky)', where: 'Inbox' },
  { keys: 'd', does: 'Deny with a reason', where: 'Inbox' },
  { keys: 'Shift+D', does: 'Deny at once', where: 'Inbox' },
  { keys: 'e', does: 'Edit the arguments', where: 'Inbox' },
  { keys: 'r', does: 'Write an answer', where: 'Inbox' },
  { keys: 'c', does: 'Comment on a choice or a vote', where: 'Inbox' },
  { keys: 't', does: 'Give people more time', where: 'Inbox' },
  { keys: 'Shift+X', does: 'Cancel the request', where: 'Inbox' },
  { keys: 'h', does: 'Put aside for 5 minutes', where: 'Inbox' },
  { keys: 'x', does: 'Select to approve several', where: 'Inbox' },
  { keys: 'Shift+J', does: 'Select on downwards', where: 'Inbox' },
  { keys: 'Shift+K', does: 'Select on upwards', where: 'Inbox' },
  { keys: 'Shift+A', does: 'Approve several, after a look at each', where: 'Inbox' },
  { keys: 'z', does: 'Undo what can still be undone', where: 'Inbox' },
  { keys: 'y', does: 'Copy the link to the request', where: 'Inbox' },
  { keys: '$mod+Enter', does: 'Send what is being written', where: 'Inbox', fixed: true },
  { keys: '/', does: 'Search, filter', where: 'Stream' },
  { keys: 'Space', does: 'Pause, follow', where: 'Stream', fixed: true },
  { keys: 'End', does: 'Follow', where: 'Stream', fixed: true },
]

const byKeys = new Map(keymap.map((key) => [key.keys, key]))

/** The other name of a key, for the same thing: shown once. */
const doubles = new Set(['Shift+?', 'ArrowDown', 'ArrowUp'])

/** One line of the help. */
export interface Line {
  keys: string
  does: string
  where: string
}

/** What the bindings that act now are for, each key once. */
export function linesOf(bindings: readonly Binding[]): Line[] {
  const lines = new Map<string, Line>()
  const digits: string[] = []
  for (const { keys, does } of bindings) {
    if (/^[1-9]$/.test(keys) && !does) digits.push(keys)
    const known = byKeys.get(keys)
    const words = does ?? known?.does
    if (!words || doubles.has(keys) || lines.has(keys)) continue
    lines.set(keys, { keys, does: words, where: known?.where ?? 'Here' })
  }
  if (digits.length > 0) {
    const keys = digits.length > 1 ? `${digits[0]} … ${digits.at(-1)}` : (digits[0] ?? '')
    lines.set(keys, { keys, does: 'Choose an answer', where: 'Inbox' })
  }
  return [...lines.values()]
}

const signs: Record<string, string> = {
  $mod: 'Ctrl',
  Control: 'Ctrl',
  Meta: '⌘',
  Shift: '⇧',
  Alt: 'Alt',
  Enter: '↵',
  Escape: 'Esc',
  ArrowDown: '↓',
  ArrowUp: '↑',
}

const onApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent)

/** How keys are written on a key cap, one text for each press: "Shift+D" is "⇧ D", "g i" is "G" and "I". */
export function capsOf(keys: string): string[] {
  const sign = (part: string) =>
    part === '$mod' && onApple() ? '⌘' : (signs[part] ?? (part.length === 1 ? part.toUpperCase() : part))
  return keys.split(' ').map((press) => press.split('+').map(sign).join(' '))
}

/** The same in one text, to be read or heard. */
export const inWords = (keys: string): string => capsOf(keys).join(' then ')

/** The keys a press makes, in tinykeys' notation; undefined for modifiers and what cannot be chosen. */
export function keysOfPress(e: KeyboardEvent): string | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey || e.key.length !== 1 || /[\s+]/.test(e.key)) return undefined
  const key = /[a-z]/i.test(e.key) ? (e.shiftKey ? e.key.toUpperCase() : e.key.toLowerCase()) : e.key
  return e.shiftKey ? `Shift+${key}` : key
}

/**
 * Why keys cannot stand for what the usual keys stand for, in words; undefined when
 * they can.
 */
export function clash(keys: string, usual: string, remap: Record<string, string>): string | undefined {
  if (/^(Shift\+)?\d$/.test(keys)) return 'Digits choose answers.'
  if (keys === '?' || keys === 'Shift+?') return '? shows the keys.'
  for (const other of keymap) {
    if (other.keys === usual) continue
    const taken = remap[other.keys] ?? other.keys
    if (taken === keys) return `${inWords(keys)} is taken: ${other.does}.`
    if (taken.startsWith(keys + ' ') || keys.startsWith(taken + ' '))
      return `${inWords(keys)} begins ${inWords(taken)}: ${other.does}.`
  }
  return undefined
}
