import { beforeEach, describe, expect, it } from 'vitest'
import { clearRatings, ratingOf, storeRatings } from './ratings'
import type { RiskyCall } from '../api/schema'

const call = (id: number, outcome: RiskyCall['outcome'] = 'open'): RiskyCall => ({
  id,
  source_app: 'a',
  session_id: 's',
  tool_name: 'Bash',
  risk: 'high',
  decided: 'agent',
  outcome,
})

beforeEach(clearRatings)

describe('Ratings', () => {
  it('keeps the newest rating of a call', () => {
    storeRatings([call(1)])
    storeRatings([call(1, 'ran')])
    expect(ratingOf(1)?.outcome).toBe('ran')
    expect(ratingOf(2)).toBeUndefined()
  })

  it('drops the oldest ones beyond its capacity', () => {
    storeRatings(Array.from({ length: 20_001 }, (_, i) => call(i + 1)))
    expect(ratingOf(1)).toBeUndefined()
    expect(ratingOf(20_001)).toBeDefined()
  })
})
