import { keysAsText } from './keyCaps'
import type { Binding } from './shortcuts'
import { shortcutText } from './text'

const copy = shortcutText
const { actions } = copy

/** A shortcut of the dashboard. */
export interface Shortcut {
  /** The default keys in tinykeys' notation. */
  keys: string
  description: string
  where: 'Everywhere' | 'Inbox' | 'Events' | 'Policy'
  /** It cannot be remapped. */
  fixed?: boolean
}

/** Every shortcut by its default keys, for the help and the settings. */
export const shortcutList: readonly Shortcut[] = [
  { keys: '$mod+k', description: actions['$mod+k'], where: 'Everywhere', fixed: true },
  { keys: 'g i', description: actions['g i'], where: 'Everywhere' },
  { keys: 'g n', description: actions['g n'], where: 'Everywhere' },
  { keys: 'g s', description: actions['g s'], where: 'Everywhere' },
  { keys: 'g e', description: actions['g e'], where: 'Everywhere' },
  { keys: 'g o', description: actions['g o'], where: 'Everywhere' },
  { keys: 'g p', description: actions['g p'], where: 'Everywhere' },
  { keys: 'g t', description: actions['g t'], where: 'Everywhere' },
  { keys: 'g u', description: actions['g u'], where: 'Everywhere' },
  { keys: 'g ,', description: actions['g ,'], where: 'Everywhere' },
  { keys: 'Shift+F', description: actions['Shift+F'], where: 'Everywhere' },
  { keys: '?', description: actions['?'], where: 'Everywhere', fixed: true },
  { keys: 'Escape', description: actions.Escape, where: 'Everywhere', fixed: true },
  { keys: 'j', description: actions.j, where: 'Inbox' },
  { keys: 'k', description: actions.k, where: 'Inbox' },
  { keys: 'a', description: actions.a, where: 'Inbox' },
  { keys: 'd', description: actions.d, where: 'Inbox' },
  { keys: 'Shift+D', description: actions['Shift+D'], where: 'Inbox' },
  { keys: 'Shift+S', description: actions['Shift+S'], where: 'Inbox' },
  { keys: 'q', description: actions.q, where: 'Inbox' },
  { keys: 'e', description: actions.e, where: 'Inbox' },
  { keys: 'r', description: actions.r, where: 'Inbox' },
  { keys: 'c', description: actions.c, where: 'Inbox' },
  { keys: 't', description: actions.t, where: 'Inbox' },
  { keys: 'Shift+X', description: actions['Shift+X'], where: 'Inbox' },
  { keys: 'h', description: actions.h, where: 'Inbox' },
  { keys: 'o', description: actions.o, where: 'Inbox' },
  { keys: 'x', description: actions.x, where: 'Inbox' },
  { keys: '.', description: actions['.'], where: 'Inbox' },
  { keys: 'Shift+J', description: actions['Shift+J'], where: 'Inbox' },
  { keys: 'Shift+K', description: actions['Shift+K'], where: 'Inbox' },
  { keys: 'Shift+A', description: actions['Shift+A'], where: 'Inbox' },
  { keys: 'z', description: actions.z, where: 'Inbox' },
  { keys: 'y', description: actions.y, where: 'Inbox' },
  { keys: 'm', description: actions.m, where: 'Inbox' },
  { keys: 'w', description: actions.w, where: 'Inbox' },
  { keys: 'Shift+W', description: actions['Shift+W'], where: 'Inbox' },
  { keys: '$mod+Enter', description: actions['$mod+Enter'], where: 'Inbox', fixed: true },
  { keys: '/', description: actions['/'], where: 'Events' },
  { keys: 'p', description: actions.p, where: 'Events' },
  { keys: 'Space', description: actions.Space, where: 'Events', fixed: true },
  { keys: 'End', description: actions.End, where: 'Events', fixed: true },
  { keys: 'n', description: actions.n, where: 'Policy' },
]

const byKeys = new Map(shortcutList.map((key) => [key.keys, key]))

/** Alternative keys of other shortcuts, left out of the help. */
const aliases = new Set(['Shift+?', 'ArrowDown', 'ArrowUp'])

/** A line of the help. */
export interface ShortcutLine {
  keys: string
  description: string
  where: string
}

/** Describes the active bindings, each key once. */
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
    lines.set(keys, { keys, description: copy.chooseAnswer, where: 'Inbox' })
  }
  return [...lines.values()]
}

/** The keys of a press in tinykeys' notation; undefined for modifiers and reserved keys. */
export function keysFromEvent(e: KeyboardEvent): string | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey || e.key.length !== 1 || /[\s+]/.test(e.key)) return undefined
  const key = /[a-z]/i.test(e.key) ? (e.shiftKey ? e.key.toUpperCase() : e.key.toLowerCase()) : e.key
  return e.shiftKey ? `Shift+${key}` : key
}

/**
 * Why a shortcut cannot be remapped to these keys; undefined if it can. usual: its
 * default keys.
 */
export function remapConflict(
  keys: string,
  usual: string,
  remap: Record<string, string>,
): string | undefined {
  if (/^(Shift\+)?\d$/.test(keys)) return copy.digits
  if (keys === '?' || keys === 'Shift+?') return copy.help
  for (const other of shortcutList) {
    if (other.keys === usual) continue
    const taken = remap[other.keys] ?? other.keys
    if (taken === keys) return copy.taken(keysAsText(keys), other.description)
    if (taken.startsWith(keys + ' ') || keys.startsWith(taken + ' '))
      return copy.prefix(keysAsText(keys), keysAsText(taken), other.description)
  }
  return undefined
}
