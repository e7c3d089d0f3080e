/** How much of a text is drawn before a person asks for the rest. */
const AT_ONCE = 40_000
const LINES_AT_ONCE = 1500

/**
 * Where to cut a text that is too long to draw at once; its length when it is not.
 * Never within a character, and at the end of a line where one is near.
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

/** A length of text in words. */
export const formatLength = (characters: number): string =>
  characters < 10_000
    ? `${characters} characters`
    : characters < 1_000_000
      ? `${Math.round(characters / 1000)} thousand characters`
      : `${(characters / 1_000_000).toFixed(1)} million characters`
