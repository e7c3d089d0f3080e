import type { Request } from '../requests'
import { isQuiet, RISKS, type Preferences } from '../preferences'
import { splitInvisible } from '../invisibleChars'

/** Whether nothing is to be shown or heard now. */
export const isMuted = (p: Preferences, at: Date): boolean => at.getTime() < p.mutedUntil || isQuiet(p, at)

/** Whether a request is of the kind and the risk a person wants to be told of. */
export function shouldAlert(p: Preferences, { question, status }: Request): boolean {
  const risk = status.risk ?? question.risk ?? 'low'
  return p.notifyKinds.includes(question.type) && RISKS.indexOf(risk) >= RISKS.indexOf(p.notifyRisk)
}

/** Text of an agent as the desktop may show it: one short line without anything invisible. */
export function plainLine(text: string, longest: number): string {
  const line = splitInvisible(text.slice(0, 4 * longest))
    .map((piece) => (piece.mark ? ' ' : piece.text))
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
  const letters = Array.from(line) // never half of a surrogate pair
  return letters.length > longest
    ? letters
        .slice(0, longest - 1)
        .join('')
        .trimEnd() + '…'
    : line
}
