import { describe, expect, it } from 'vitest'
import type { ChannelFilter } from '../../lib/api/schema'
import { filterSentence, toFields, toFilter } from './channelFilter'

const filter: ChannelFilter = { projects: ['shop', 'my web'], owners: ['@shop/payments'], risk: 'high' }

describe('channelFilter', () => {
  it('is the same after the form', () => {
    expect(toFilter(toFields(filter))).toEqual(filter)
    expect(toFilter({ ...toFields(), agents: ' , ' })).toEqual({})
  })
  it('is shown as text', () =>
    expect(filterSentence(filter)).toBe(
      'Only requests in shop, my web · with the owner @shop/payments · of high risk or more',
    ))
})
