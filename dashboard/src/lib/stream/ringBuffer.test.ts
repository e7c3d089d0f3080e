import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RingBuffer } from './ringBuffer'

const items = (ids: number[]) => ids.map((id) => ({ id }))

describe('RingBuffer', () => {
  it('keeps the newest items, oldest first', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 70 }), (capacity, n) => {
        const ring = new RingBuffer<{ id: number }>(capacity)
        const all = items(Array.from({ length: n }, (_, i) => i * 3 + 1))
        for (const item of all) ring.push(item)
        const held = Array.from({ length: ring.length }, (_, i) => ring.at(ring.start + i))
        expect(held).toEqual(all.slice(-capacity))
        expect(ring.end).toBe(n)
        for (let from = 0; from <= n; from++) {
          const seen: { id: number }[] = []
          ring.each(from, (item) => seen.push(item))
          expect(seen).toEqual(all.slice(Math.max(from, n - ring.length)))
        }
        for (const item of all) expect(ring.find(item.id)).toBe(held.includes(item) ? item : undefined)
        expect(ring.find(2)).toBeUndefined()
      }),
    )
  })

  it('never changes the position of an item', () => {
    const ring = new RingBuffer<{ id: number }>(3)
    for (const item of items([1, 2, 3, 4])) ring.push(item)
    expect(ring.at(0)).toBeUndefined()
    expect(ring.at(1)).toEqual({ id: 2 })
    expect(ring.at(3)).toEqual({ id: 4 })
    expect(ring.at(4)).toBeUndefined()
    expect(ring.last).toEqual({ id: 4 })
  })

  it('starts empty after clear', () => {
    const ring = new RingBuffer<{ id: number }>(2)
    for (const item of items([1, 2, 3])) ring.push(item)
    ring.clear()
    expect([ring.length, ring.start, ring.end, ring.last]).toEqual([0, 0, 0, undefined])
  })
})
