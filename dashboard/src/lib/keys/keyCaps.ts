import { onApple } from './keyboardLayout'

/** Between the presses of a sequence. */
const THEN = ' then '

const keySymbols: Record<string, string> = {
  $mod: 'Ctrl',
  Control: 'Ctrl',
  Meta: '⌘',
  Shift: '⇧',
  Enter: '↵',
  Escape: 'Esc',
  ArrowDown: '↓',
  ArrowUp: '↑',
}

/** The key cap labels, one per press: "Shift+D" is "⇧ D", "g i" is "G" and "I". */
export function keyCaps(keys: string): string[] {
  const sign = (part: string) =>
    part === '$mod' && onApple() ? '⌘' : (keySymbols[part] ?? (part.length === 1 ? part.toUpperCase() : part))
  return keys.split(' ').map((press) => press.split('+').map(sign).join(' '))
}

/** The key cap labels as one text. */
export const keysAsText = (keys: string): string => keyCaps(keys).join(THEN)
