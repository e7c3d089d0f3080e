import { describe, expect, it } from 'vitest'
import text from '../../testing/filter-cases.json?raw'
import { Entry } from './eventView'
import { matches, parse } from './filter'
import { storeRatings } from './ratings'
import type { RiskyCall } from '../api/schema'
import type { Event } from '../api/types'

interface Case {
  filter: string
  event: string
  matches?: boolean
  refused?: string
}

const shared = JSON.parse(text) as {
  events: Record<string, Event & { rating?: Partial<RiskyCall> }>
  cases: Case[]
}

// The hub's history search uses the same filter language and runs the same cases.
describe('Shared filter cases', () => {
  for (const event of Object.values(shared.events))
    if (event.rating) storeRatings([{ ...event.rating, id: event.id } as RiskyCall])
  it.each(shared.cases.filter((c) => c.refused === undefined))(
    '$filter of $event → $matches',
    ({ filter, event, matches: expected }) => {
      const read = parse(filter)
      expect(read.problem).toBeUndefined()
      expect(matches(read, new Entry(shared.events[event]!))).toBe(expected)
    },
  )
})
