import { describe, expect, it } from 'vitest'
import type { Rule } from '../api/schema'
import { allowanceOf } from './allowances.svelte'

const rule = (more: Partial<Rule>): Rule => ({
  id: 1,
  then: 'allow',
  scope: 'session',
  text: '',
  tool: '',
  source_app: 'api',
  session_id: 's1',
  createdAt: 0,
  createdBy: 'ann',
  expiresAt: 900_000,
  uses: 0,
  ...more,
})

describe('allowanceOf', () => {
  it('finds the active one of exactly this session', () => {
    const all = [rule({ id: 1, session_id: 's2' }), rule({ id: 2, source_app: 'web' }), rule({ id: 3 })]
    expect(allowanceOf(all, 'api', 's1', 1)?.id).toBe(3)
    expect(allowanceOf(all, 's1', 'api', 1)).toBeUndefined()
  })

  it('leaves out those that have expired or are revoked', () => {
    expect(allowanceOf([rule({})], 'api', 's1', 899_999)).toBeDefined()
    expect(allowanceOf([rule({})], 'api', 's1', 900_000)).toBeUndefined()
    expect(allowanceOf([rule({ revokedAt: 5 })], 'api', 's1', 10)).toBeUndefined()
  })
})
