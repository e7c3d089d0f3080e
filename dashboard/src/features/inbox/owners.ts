import { fullTime } from '../../lib/format/clock'
import type { Request } from '../../lib/stream/requests'
import { joinNames } from '../../lib/format/text'
import { inboxText } from './text'

const copy = inboxText.header.owners
const SHOWN = 3

/** Who decides a request that goes to the owners of its files, and why; empty for another request. */
export function ownersText({ question, status }: Request): string {
  const { owners } = status
  if (!owners) return ''
  const stated = question.context?.owners
  const paths = (stated?.files ?? []).flatMap((group) => group.paths)
  const names = [...new Set((stated?.files ?? []).flatMap((group) => group.owners))]
  const files = joinNames([...paths.slice(0, SHOWN), ...(paths.length > SHOWN ? ['…'] : [])])
  if (owners.state === 'unstated') return copy.unstated(stated?.problem ?? '')
  if (owners.state !== 'matched') return copy[owners.state](files, names.slice(0, SHOWN).join(', '))
  if (status.escalatedAt) return copy.escalated(files)
  const fallback = owners.fallbackAt ? copy.fallback(fullTime(owners.fallbackAt)) : ''
  return copy.matched(files, stated?.from ?? '') + fallback
}
