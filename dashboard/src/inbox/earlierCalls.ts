import { formatAgo } from '../clock'
import { receivedAt } from '../eventView'
import type { QuestionContext } from '../types'

const times = (n: number): string => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`)

/** How the same call fared before, in words; undefined when it was never asked for. */
export function earlierCallsText(
  { approved, denied, other, last }: QuestionContext['earlier'],
  now: number,
): { before: string; quote?: string } | undefined {
  const parts = [
    denied > 0 && `denied ${times(denied)}`,
    approved > 0 && `approved ${times(approved)}`,
    other > 0 && `left without an answer ${times(other)}`,
  ].filter((part): part is string => part !== false)
  if (parts.length === 0) return undefined
  const all =
    parts.length > 1 ? `${parts.slice(0, -1).join(', ')} and ${parts.at(-1) ?? ''}` : (parts[0] ?? '')
  const whole = `The same call was ${all} before`
  if (!last) return { before: whole + '.' }
  const status = last.humanInTheLoopStatus
  const how = new Map<string | undefined, string>([
    ['approve', 'approved'],
    ['deny', 'denied'],
  ]).get(status?.outcome)
  const word = parts.length > 1 && how ? `last ${how}` : 'last'
  const when = formatAgo(status?.respondedAt ?? receivedAt(last), now)
  const reason = status?.response?.reason ?? status?.reason
  return { before: `${whole}, ${word} ${when}${reason ? ': ' : '.'}`, quote: reason }
}
