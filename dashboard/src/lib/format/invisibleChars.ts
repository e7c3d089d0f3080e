/** A piece of plain text, or one invisible character. */
export interface TextPiece {
  text: string
  /** The label to show for an invisible character; unset for text. */
  mark?: string
  /** The character's name, for the tooltip and screen readers. */
  name?: string
}

const controlNames =
  'NUL SOH STX ETX EOT ENQ ACK BEL BS TAB LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

const charNames: Record<number, [mark: string, name: string]> = {
  0x7f: ['DEL', 'delete'],
  0xad: ['SHY', 'soft hyphen'],
  0x34f: ['CGJ', 'combining grapheme joiner'],
  0x61c: ['ALM', 'Arabic letter mark'],
  0x115f: ['HF', 'Hangul filler'],
  0x1160: ['HF', 'Hangul filler'],
  0x17b4: ['KIV', 'Khmer inherent vowel'],
  0x17b5: ['KIV', 'Khmer inherent vowel'],
  0x180e: ['MVS', 'Mongolian vowel separator'],
  0x200b: ['ZWSP', 'zero-width space'],
  0x200c: ['ZWNJ', 'zero-width non-joiner'],
  0x200d: ['ZWJ', 'zero-width joiner'],
  0x200e: ['LRM', 'left-to-right mark'],
  0x200f: ['RLM', 'right-to-left mark'],
  0x2028: ['LS', 'line separator'],
  0x2029: ['PS', 'paragraph separator'],
  0x202a: ['LRE', 'left-to-right embedding'],
  0x202b: ['RLE', 'right-to-left embedding'],
  0x202c: ['PDF', 'end of a direction change'],
  0x202d: ['LRO', 'left-to-right override'],
  0x202e: ['RLO', 'right-to-left override'],
  0x2060: ['WJ', 'word joiner'],
  0x2066: ['LRI', 'left-to-right isolate'],
  0x2067: ['RLI', 'right-to-left isolate'],
  0x2068: ['FSI', 'first-strong isolate'],
  0x2069: ['PDI', 'end of an isolate'],
  0x3164: ['HF', 'Hangul filler'],
  0xfeff: ['BOM', 'zero-width no-break space'],
  0xffa0: ['HF', 'Hangul filler'],
}

/* eslint-disable no-control-regex, no-misleading-character-class -- these characters are the subject */
const hidden =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|[\u{e0000}-\u{e0fff}]/gu
/* eslint-enable no-control-regex, no-misleading-character-class */

const pictograph = /\p{Extended_Pictographic}(?:[\u{1f3fb}-\u{1f3ff}]|\ufe0f)?$/u
const startsPictograph = /^\p{Extended_Pictographic}/u
const keycap = /[0-9#*]$/

/** Whether a joiner or variation selector is part of an emoji. */
function isPartOfEmoji(code: number, before: string, after: string): boolean {
  if (code === 0xfe0f) return /\p{Extended_Pictographic}$/u.test(before) || keycap.test(before)
  return code === 0x200d && pictograph.test(before) && startsPictograph.test(after)
}

function describe(code: number): [mark: string, name: string] {
  const known = charNames[code]
  if (known) return known
  const hex = 'U+' + code.toString(16).toUpperCase().padStart(4, '0')
  if (code < 0x20) return [controlNames[code] ?? hex, 'control character']
  if (code >= 0xe0000) return [hex, 'invisible tag character']
  return [hex, 'invisible character']
}

/**
 * Splits text at control, direction-changing and zero-width characters, so they can be shown.
 * Tabs, line feeds and CRLF stay text. Any other carriage return is shown, because it could
 * hide the text before it.
 */
export function splitInvisible(text: string): TextPiece[] {
  const out: TextPiece[] = []
  let from = 0
  for (const found of text.matchAll(hidden)) {
    const at = found.index
    const char = found[0]
    const code = char.codePointAt(0) ?? 0
    if (char === '\r' && text[at + 1] === '\n') continue
    if (isPartOfEmoji(code, text.slice(Math.max(0, at - 4), at), text.slice(at + 1, at + 3))) continue
    if (at > from) out.push({ text: text.slice(from, at) })
    const [mark, name] = describe(code)
    out.push({ text: char, mark, name })
    from = at + char.length
  }
  if (from < text.length || out.length === 0) out.push({ text: text.slice(from) })
  return out
}

/** Number of invisible characters in the text. */
export function countInvisible(text: string): number {
  return splitInvisible(text).reduce((n, piece) => n + (piece.mark ? 1 : 0), 0)
}

/** Escapes invisible characters as in JSON: people paste the text into a shell. */
export const escapeInvisible = (text: string): string =>
  text.replace(hidden, (char) =>
    Array.from(
      { length: char.length },
      (_, i) => '\\u' + char.charCodeAt(i).toString(16).padStart(4, '0'),
    ).join(''),
  )
