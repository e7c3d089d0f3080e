import type { Binding } from './shortcuts'

/** A key of the page and what it does. */
export interface Shortcut {
  /** The usual keys, in tinykeys' notation. */
  keys: string
  description: string
  where: 'Everywhere' | 'Inbox' | 'Stream'
  /** It cannot be given other keys. */
  fixed?: boolean
}

/** Every key of the page, by its usual name: the help and the settings tell of these. */
export const shortcutList: readonly Shortcut[] = [
  { keys: '$mod+k', description: 'Find a screen, an agent, a request, an action', where: 'Everywhere', fixed: true },
  { keys: 'g i', description: 'To the inbox', where: 'Everywhere' },
  { keys: 'g s', description: 'To the stream', where: 'Everywhere' },
  { keys: 'g e', description: 'To the sessions', where: 'Everywhere' },
  { keys: 'g o', description: 'To the overview', where: 'Everywhere' },
  { keys: 'g r', description: 'To the rules', where: 'Everywhere' },
  { keys: 'g u', description: 'To the setup', where: 'Everywhere' },
  { keys: 'g ,', description: 'To the settings', where: 'Everywhere' },
  { keys: '?', description: 'Show the keys of this screen', where: 'Everywhere', fixed: true },
  { keys: 'Escape', description: 'Back, close', where: 'Everywhere', fixed: true },
  { keys: 'j', description: 'Next request', where: 'Inbox' },
  { keys: 'k', description: 'Previous request', where: 'Inbox' },
  { keys: 'a', description: 'Approve (hold when it is risky)', where: 'Inbox' },
  { keys: 'd', description: 'Deny with a reason', where: 'Inbox' },
  { keys: 'Shift+D', description: 'Deny at once', where: 'Inbox' },
  { keys: 'e', description: 'Edit the arguments', where: 'Inbox' },
  { keys: 'r', description: 'Write an answer', where: 'Inbox' },
  { keys: 'c', description: 'Comment on a choice or a vote', where: 'Inbox' },
  { keys: 't', description: 'Give people more time', where: 'Inbox' },
  { keys: 'Shift+X', description: 'Cancel the request', where: 'Inbox' },
  { keys: 'h', description: 'Put aside for 5 minutes', where: 'Inbox' },
  { keys: 'x', description: 'Select to approve several', where: 'Inbox' },
  { keys: 'Shift+J', description: 'Select on downwards', where: 'Inbox' },
  { keys: 'Shift+K', description: 'Select on upwards', where: 'Inbox' },
  { keys: 'Shift+A', description: 'Approve several, after a look at each', where: 'Inbox' },
  { keys: 'z', description: 'Undo what can still be undone', where: 'Inbox' },
  { keys: 'y', description: 'Copy the link to the request', where: 'Inbox' },
  { keys: '$mod+Enter', description: 'Send what is being written', where: 'Inbox', fixed: true },
  { keys: '/', description: 'Search, filter', where: 'Stream' },
  { keys: 'Space', description: 'Pause, follow', where: 'Stream', fixed: true },
  { keys: 'End', description: 'Follow', where: 'Stream', fixed: true },
]

const byKeys = new Map(shortcutList.map((key) => [key.keys, key]))

/** The other name of a key, for the same thing: shown once. */
const aliases = new Set(['Shift+?', 'ArrowDown', 'ArrowUp'])

/** One line of the help. */
export interface ShortcutLine {
  keys: string
  description: string
  where: string
}

/** What the bindings that act now are for, each key once. */
export function shortcutLines(bindings: readonly Binding[]): ShortcutLine[] {
  const lines = new Map<string, ShortcutLine>()
  const digits: string[] = []
  for (const { keys, description: does } of bindings) {
    if (/^[1-9]$/.test(keys) && !does) digits.push(keys)
    const known = byKeys.get(keys)
    const words = does ?? known?.description
    if (!words || aliases.has(keys) || lines.has(keys)) continue
    lines.set(keys, { keys, description: words, where: known?.where ?? 'Here' })
  }
  if (digits.length > 0) {
    const keys = digits.length > 1 ? `${digits[0]} … ${digits.at(-1)}` : (digits[0] ?? '')
    lines.set(keys, { keys, description: 'Choose an answer', where: 'Inbox' })
  }
  return [...lines.values()]
}

const keySymbols: Record<string, string> = {
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
export function keyCaps(keys: string): string[] {
  const sign = (part: string) =>
    part === '$mod' && onApple() ? '⌘' : (keySymbols[part] ?? (part.length === 1 ? part.toUpperCase() : part))
  return keys.split(' ').map((press) => press.split('+').map(sign).join(' '))
}

/** The same in one text, to be read or heard. */
export const keysAsText = (keys: string): string => keyCaps(keys).join(' then ')

/** The keys a press makes, in tinykeys' notation; undefined for modifiers and what cannot be chosen. */
export function keysFromEvent(e: KeyboardEvent): string | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey || e.key.length !== 1 || /[\s+]/.test(e.key)) return undefined
  const key = /[a-z]/i.test(e.key) ? (e.shiftKey ? e.key.toUpperCase() : e.key.toLowerCase()) : e.key
  return e.shiftKey ? `Shift+${key}` : key
}

/**
 * Why keys cannot stand for what the usual keys stand for, in words; undefined when
 * they can.
 */
export function remapConflict(keys: string, usual: string, remap: Record<string, string>): string | undefined {
  if (/^(Shift\+)?\d$/.test(keys)) return 'Digits choose answers.'
  if (keys === '?' || keys === 'Shift+?') return '? shows the keys.'
  for (const other of shortcutList) {
    if (other.keys === usual) continue
    const taken = remap[other.keys] ?? other.keys
    if (taken === keys) return `${keysAsText(keys)} is taken: ${other.description}.`
    if (taken.startsWith(keys + ' ') || keys.startsWith(taken + ' '))
      return `${keysAsText(keys)} begins ${keysAsText(taken)}: ${other.description}.`
  }
  return undefined
}
