import { uiText } from './text'

/** Characters and lines rendered before a click on "Show all". */
const AT_ONCE = 40_000
const LINES_AT_ONCE = 1500

/**
 * The index at which to truncate a long text; its length if it is short enough. Never
 * within a surrogate pair, and preferably at the end of a line.
 */
export function truncateAt(text: string): number {
  let at = 0
  for (let lines = 0; lines < LINES_AT_ONCE; lines++) {
    const next = text.indexOf('\n', at)
    if (next < 0 || next >= AT_ONCE) {
      if (text.length <= AT_ONCE) return text.length
      const end = at > AT_ONCE / 2 ? at : AT_ONCE
      return /[\ud800-\udbff]/.test(text[end - 1] ?? '') ? end - 1 : end
    }
    at = next + 1
  }
  return at
}

/** Formats a length, such as "12 thousand characters". */
export const formatLength = (characters: number): string => uiText.code.characters(characters)
