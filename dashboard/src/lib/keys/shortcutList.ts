import type { Binding } from './shortcuts'
import { chooseAnswer, shortcutText } from './text'

/** A shortcut as the help lists it. */
export interface Shortcut {
  /** In the notation of bindings. */
  keys: string
  description: string
  /** The screen that has it. */
  where: string
}

/** Every shortcut of the dashboard. */
export const shortcutList: readonly Shortcut[] = Object.entries(shortcutText).flatMap(([where, shortcuts]) =>
  Object.entries(shortcuts).map(([keys, description]) => ({ keys, description, where })),
)

const byKeys = new Map(shortcutList.map((shortcut) => [shortcut.keys, shortcut]))

/** Alternative keys of other shortcuts, left out of the help. */
const aliases = new Set(['ArrowDown', 'ArrowUp'])

/** Describes the active bindings, each key once. */
export function shortcutLines(bindings: readonly Binding[]): Shortcut[] {
  const lines = new Map<string, Shortcut>()
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
    lines.set(keys, { keys, description: chooseAnswer, where: 'Inbox' })
  }
  return [...lines.values()]
}
