import type { Request } from '../stream/requests'
import { RISKS, type Preferences } from '../page/preferences'
import { splitInvisible } from '../format/invisibleChars'

/** Reports whether the preferences ask for alerts of this kind and risk. */
export function shouldAlert(p: Preferences, { question, status }: Request): boolean {
  const risk = status.risk ?? question.risk ?? 'low'
  return p.notifyKinds.includes(question.type) && RISKS.indexOf(risk) >= RISKS.indexOf(p.notifyRisk)
}

/** Agent text for the desktop: one line of at most maxLength characters, without invisible ones. */
export function plainLine(text: string, maxLength: number): string {
  const line = splitInvisible(text.slice(0, 4 * maxLength))
    .map((piece) => (piece.mark ? ' ' : piece.text))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = Array.from(line) // splits between surrogate pairs only
  return letters.length > maxLength
    ? letters
        .slice(0, maxLength - 1)
        .join('')
        .trimEnd() + '…'
    : line
}
