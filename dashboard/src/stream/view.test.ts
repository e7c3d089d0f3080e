import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Entry } from '../events'
import { parse } from '../filter'
import { Ring } from '../ring'
import { anEvent } from '../testing/build'
import { Pulse, SECONDS } from './pulse'
import { StreamView } from './view'

function setup(capacity = 5) {
  const ring = new Ring<Entry>(capacity)
  const view = new StreamView(ring)
  let id = 0
  const add = (n: number, app = 'a') => {
    for (let i = 0; i < n; i++) {
      ring.push(new Entry(anEvent(++id, { source_app: app })))
      view.sync()
    }
  }
  const shown = () => Array.from({ length: view.length }, (_, i) => view.at(i)?.id)
  return { ring, view, add, shown }
}

describe('the rows of the stream', () => {
  it('are what the ring holds', () => {
    const { add, shown } = setup()
    add(7)
    expect(shown()).toEqual([3, 4, 5, 6, 7])
  })

  it('are those that fit the filter, whichever came when', () => {
    const { view, add, shown } = setup(6)
    add(2, 'a')
    add(2, 'b')
    view.setFilter(parse('agent:b'))
    add(1, 'a')
    add(1, 'b')
    expect(shown()).toEqual([3, 4, 6])
    add(5, 'a')
    expect(shown()).toEqual([6])
    view.setFilter(parse(''))
    expect(shown()).toEqual([6, 7, 8, 9, 10, 11])
  })

  it('stand still while paused, and what comes is counted', () => {
    const { view, add, shown } = setup()
    add(5)
    view.pause()
    add(20)
    expect(shown()).toEqual([1, 2, 3, 4, 5])
    expect(view.fresh).toBe(20)
    view.follow()
    expect(shown()).toEqual([21, 22, 23, 24, 25])
    expect(view.fresh).toBe(0)
  })

  it('can be filtered while paused', () => {
    const { view, add, shown } = setup(10)
    add(2, 'a')
    add(2, 'b')
    view.pause()
    view.setFilter(parse('agent:a'))
    add(1, 'a')
    expect([shown(), view.fresh, view.paused]).toEqual([[1, 2], 1, true])
  })

  it('take history before the first row, once each', () => {
    const { view, ring, shown } = setup(10)
    for (const id of [50, 51]) ring.push(new Entry(anEvent(id)))
    view.sync()
    view.pause()
    view.prepend([48, 49, 50].map((id) => new Entry(anEvent(id))))
    expect(shown()).toEqual([48, 49, 50, 51])
    expect(view.indexOf(50)).toBe(2)
    expect(view.indexOf(7)).toBe(-1)
  })

  it('start over when the hub was replaced', () => {
    const { view, ring, add, shown } = setup()
    add(5)
    ring.clear()
    ring.push(new Entry(anEvent(900)))
    view.sync()
    expect(shown()).toEqual([900])
  })

  it('keep one element per row: base + index never changes for an entry on screen', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }), (steps) => {
        const { view, add } = setup(8)
        const places = new Map<number | undefined, number>()
        for (const n of steps) {
          add(n)
          for (let i = 0; i < view.length; i++) {
            const id = view.at(i)?.id
            expect(places.get(id) ?? view.base + i).toBe(view.base + i)
            places.set(id, view.base + i)
          }
        }
      }),
    )
  })
})

describe('the pulse', () => {
  it('counts the last minute by second, and forgets what is older', () => {
    const ring = new Ring<Entry>(100)
    const pulse = new Pulse()
    const start = 1_700_000_000_000
    const at = (s: number, error?: string) =>
      ring.push(new Entry(anEvent(ring.end + 1, { timestamp: start + s * 1000, error })))
    at(0)
    at(0, 'broken')
    at(-90)
    pulse.sync(ring, start)
    expect([pulse.total, pulse.all[SECONDS - 1], pulse.fails[SECONDS - 1]]).toEqual([2, 2, 1])
    at(5)
    pulse.sync(ring, start + 5000)
    expect([pulse.total, pulse.all[SECONDS - 6], pulse.all[SECONDS - 1]]).toEqual([3, 2, 1])
    pulse.sync(ring, start + 62_000)
    expect(pulse.total).toBe(1)
    pulse.sync(ring, start + 600_000)
    expect(pulse.total).toBe(0)
  })
})
