import type { ChannelFilter } from '../../lib/api/schema'
import { filterText as text } from './notificationText'

/** The members of a filter that are lists, in the order of the form. */
export const lists = ['projects', 'paths', 'agents', 'owners'] as const

/** The filter of a form, in which the entries of a list are separated by commas. */
export function toFilter(fields: Record<string, string>): ChannelFilter {
  const filter: ChannelFilter = {}
  for (const name of lists) {
    const entries = (fields[name] ?? '').split(',').map((entry) => entry.trim())
    if (entries.some(Boolean)) filter[name] = entries.filter(Boolean)
  }
  if (fields.risk) filter.risk = fields.risk as ChannelFilter['risk']
  return filter
}

export const toFields = (filter: ChannelFilter = {}): Record<string, string> => ({
  ...Object.fromEntries(lists.map((name) => [name, (filter[name] ?? []).join(', ')])),
  risk: filter.risk ?? '',
})

/** The requests that a filter selects, as text. */
export function filterSentence(filter: ChannelFilter): string {
  const parts = lists.flatMap((name) => {
    const entries = filter[name] ?? []
    return entries.length > 0 ? [text.parts[name](entries.join(', '))] : []
  })
  return text.only + [...parts, ...(filter.risk ? [text.fromRisk(filter.risk)] : [])].join(' · ')
}
