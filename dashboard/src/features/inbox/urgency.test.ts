import { describe, expect, it } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest } from '../../testing/factories'
import type { Status } from '../../lib/api/types'
import { arrange } from './urgency'

const asked = (id: number, status: Partial<Status> = {}) => toRequest(aRequest(id, {}, status)) as Request
const ids = (rows: Request[]) => rows.map((r) => r.id)

describe('Order by urgency', () => {
  it('sorts by time left, then by risk, deadline and id', () => {
    const rows = [
      asked(1, { risk: 'low' }),
      asked(2, { risk: 'critical' }),
      asked(3),
      asked(4, { risk: 'high', expiresAt: 200_000 }),
      asked(5, { risk: 'low', expiresAt: 50_000 }),
      asked(6, { risk: 'medium', expiresAt: 900_000 }),
      asked(7, { risk: 'high', expiresAt: 100_000 }),
      asked(8),
    ]
    expect(ids(arrange(rows, 0).rows)).toEqual([5, 7, 4, 2, 6, 3, 8, 1])
  })
  it('keeps the order on screen, appends new rows and counts the rows that would move', () => {
    const rows = [asked(1), asked(2), asked(3), asked(4, { risk: 'critical' })]
    const frozen = arrange(rows, 0, [3, 1, 2])
    expect([ids(frozen.rows), frozen.moved]).toEqual([[3, 1, 2, 4], 2])
    expect(arrange(rows, 0, [4, 1, 2, 3]).moved).toBe(0)
    expect(arrange([], 0, [1]).rows).toEqual([])
  })
  it('counts one moved row if one became urgent', () => {
    const rows = Array.from({ length: 50 }, (_, i) => asked(i + 1))
    rows[49] = asked(50, { expiresAt: 30_000 })
    expect(arrange(rows, 0, ids(rows)).moved).toBe(1)
  })
})
