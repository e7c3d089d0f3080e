import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CallPairs } from '../../lib/stream/callPairs'
import { Entry } from '../../lib/stream/eventView'
import { RingBuffer } from '../../lib/stream/ringBuffer'
import { anEvent } from '../../testing/factories'
import { StreamView, MOST_OLDER } from './view'

function setup(capacity = 5) {
  const ring = new RingBuffer<Entry>(capacity)
  const view = new StreamView(ring)
  let id = 0
  const add = (n: number, app = 'a') => {
    for (let i = 0; i < n; i++) {
      ring.push(new Entry(anEvent(++id, { source_app: app })))
      view.sync()
    }
  }
  const entries = (...ids: number[]) => ids.map((n) => new Entry(anEvent(n)))
  const shown = () => Array.from({ length: view.length }, (_, i) => view.at(i)?.id)
  return { ring, view, add, shown, entries }
}

describe('StreamView', () => {
  it('contains the events of the ring buffer', () => {
    const { add, shown } = setup()
    add(7)
    expect(shown()).toEqual([3, 4, 5, 6, 7])
  })

  it('can show other entries', () => {
    const { ring, view, add, shown } = setup(6)
    add(2)
    const matches = new RingBuffer<Entry>(6)
    view.show(matches)
    expect(shown()).toEqual([])
    add(2)
    matches.push(ring.at(3)!)
    view.sync()
    expect(shown()).toEqual([4])
    view.show(ring)
    expect(shown()).toEqual([1, 2, 3, 4])
  })

  it('does not change while paused, and counts new events', () => {
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

  it('can show other entries while paused, and follow them without a gap', () => {
    const { view, entries, shown } = setup(10)
    view.pause()
    const matches = new RingBuffer<Entry>(10)
    view.show(matches)
    view.prepend(entries(1, 2), 1, false)
    for (const entry of entries(4)) matches.push(entry)
    view.sync()
    expect([shown(), view.fresh, view.paused]).toEqual([[1, 2], 1, true])
    view.follow()
    expect([shown(), view.reached]).toEqual([[1, 2, 4], 1])
  })

  it('prepends each history event once, and reports how far back it reaches', () => {
    const { view, ring, shown, entries } = setup(10)
    for (const entry of entries(50, 51)) ring.push(entry)
    view.sync()
    view.prepend(entries(48, 49, 50), 40, false)
    expect([shown(), view.reached, view.complete]).toEqual([[48, 49, 50, 51], 40, false])
    expect([view.indexOf(50), view.indexOf(48), view.indexOf(7)]).toEqual([2, 0, -1])
    view.prepend(entries(3), 0, true)
    expect([shown(), view.complete]).toEqual([[3, 48, 49, 50, 51], true])
    view.show(ring)
    expect([view.reached, view.complete]).toEqual([undefined, false])
  })

  it('has no gap after its history, however far the ring buffer advances', () => {
    const { view, add, shown, entries } = setup(5)
    add(5)
    view.prepend(entries(-1, 0), -1, true)
    add(4)
    expect(shown()).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    view.pause()
    add(2)
    view.follow()
    expect(shown()).toEqual([-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])
  })

  it('drops the history rather than show a gap', () => {
    const { view, add, shown, entries } = setup(5)
    add(5)
    view.pause()
    add(5) // the ring buffer drops events that the view still shows
    view.prepend(entries(-1, 0), -1, true)
    expect(shown()).toEqual([-1, 0, 1, 2, 3, 4, 5])
    view.follow()
    expect([shown(), view.reached]).toEqual([[6, 7, 8, 9, 10], undefined])
  })

  it('keeps a bounded history', () => {
    const { view, ring, add, entries } = setup(5)
    view.prepend(entries(...Array.from({ length: MOST_OLDER }, (_, i) => i - MOST_OLDER)), -MOST_OLDER, false)
    expect(view.full).toBe(true)
    add(20)
    expect(view.length).toBe(ring.capacity)
    expect(view.full).toBe(false)
  })

  it('contains events within the range, and drops them as time passes', () => {
    const { ring, view, shown } = setup(10)
    const at = (id: number, timestamp: number) => ring.push(new Entry(anEvent(id, { timestamp })))
    for (const id of [1, 2, 3, 4]) at(id, id * 1000)
    view.show(ring, { since: 2500 }, 4000)
    expect(shown()).toEqual([2, 3, 4])
    view.sync(6000)
    expect(shown()).toEqual([4])
    view.show(ring, { from: 2000, to: 4000 }, 4000)
    expect(shown()).toEqual([2, 3])
    at(5, 5000)
    view.sync(5000)
    expect(shown()).toEqual([2, 3])
  })

  it('can show a past range, grow both ways and rejoin the present', () => {
    const { view, add, shown, entries } = setup(5)
    add(20)
    view.showRange(entries(4, 5, 6))
    expect([shown(), view.detached, view.paused, view.reached]).toEqual([[4, 5, 6], true, true, 4])
    view.prepend(entries(2, 3), 2, false)
    view.append(entries(6, 7))
    expect(shown()).toEqual([2, 3, 4, 5, 6, 7])
    add(1)
    expect(view.fresh).toBe(1)
    view.append(Array.from({ length: 9 }, (_, i) => entries(i + 8)).flat())
    view.rejoinLive()
    expect([shown().slice(-3), view.detached, view.fresh]).toEqual([[19, 20, 21], false, 0])
    expect(new Set(shown()).size).toBe(20)
    view.follow()
    expect(shown()).toEqual([17, 18, 19, 20, 21])
  })

  it('newest iterates backward to a position, and includes history only from the start', () => {
    const { view, add, entries } = setup(5)
    add(3)
    view.prepend(entries(-1), -1, true)
    const seen: number[] = []
    const look = (down: number) => {
      seen.length = 0
      view.newest(down, (e) => seen.push(e.id) > 0)
      return [...seen]
    }
    expect(look(0)).toEqual([3, 2, 1, -1])
    const end = view.end
    add(2)
    expect(look(end)).toEqual([5, 4])
    expect(look(view.end)).toEqual([])
    view.newest(0, (e) => e.id !== 4 && seen.push(e.id) > 0)
    expect(seen).toEqual([5])
  })

  describe('calls', () => {
    const half = (id: number, type: 'Pre' | 'Post', use: string, at = id) =>
      new Entry(
        anEvent(id, { hook_event_type: `${type}ToolUse`, payload: { tool_use_id: use }, timestamp: at }),
      )
    function calls(capacity = 10) {
      const { ring, view, shown } = setup(capacity)
      const pairs = new CallPairs()
      const live = (...all: Entry[]) => {
        for (const entry of all) {
          pairs.add(entry)
          ring.push(entry)
          view.sync()
        }
      }
      const history = (...all: Entry[]) => {
        for (const entry of all.toReversed()) pairs.add(entry)
        return all
      }
      return { ring, view, shown, live, history }
    }

    it('have one row, that of their start, also after others were shown', () => {
      const { ring, view, shown, live } = calls()
      live(half(1, 'Pre', 'a'), half(2, 'Pre', 'b'), half(3, 'Post', 'a'))
      expect(shown()).toEqual([1, 2])
      expect([view.at(0)?.other?.id, view.rowOf(3), view.rowOf(2), view.rowOf(9)]).toEqual([3, 0, 1, -1])
      view.pause()
      live(half(4, 'Post', 'b'))
      expect([view.fresh, shown()]).toEqual([0, [1, 2]])
      const ends = new RingBuffer<Entry>(10)
      for (const id of [3, 4]) ends.push(ring.find(id)!)
      view.show(ends)
      expect(shown()).toEqual([3, 4])
      view.show(ring)
      expect(shown()).toEqual([1, 2])
    })

    it('have the row of their end if the range starts between, or the start is not held', () => {
      const { ring, view, shown, live } = calls(2)
      live(half(1, 'Pre', 'a', 100), half(2, 'Post', 'a', 200))
      view.show(ring, { from: 150 }, 300)
      expect(shown()).toEqual([2])
      view.show(ring, {}, 300)
      live(half(3, 'Pre', 'b'), half(4, 'Pre', 'c'))
      live(half(5, 'Post', 'b'))
      expect(shown()).toEqual([4, 5])
    })

    it('have one row in the history and across its border', () => {
      const { view, shown, live, history } = calls()
      live(half(10, 'Post', 'a'), half(11, 'Pre', 'b'))
      view.prepend(history(half(7, 'Pre', 'a'), half(8, 'Pre', 'c'), half(9, 'Post', 'c')), 7, false)
      expect(shown()).toEqual([8, 10, 11])
      view.prepend(history(half(5, 'Post', 'd')), 5, false)
      view.prepend(history(half(4, 'Pre', 'd')), 4, true)
      expect(shown()).toEqual([5, 8, 10, 11])
    })

    it('have one row in a part of the past that grows', () => {
      const { view, shown, history } = calls()
      view.showRange(history(half(1, 'Pre', 'a'), half(2, 'Pre', 'b'), half(3, 'Post', 'a')))
      expect(shown()).toEqual([1, 2])
      const [next] = history(half(4, 'Post', 'b'))
      view.append([next!])
      expect([shown(), view.rowOf(4)]).toEqual([[1, 2], 1])
    })
  })

  it('resets if the hub was replaced', () => {
    const { view, ring, add, shown } = setup()
    add(5)
    ring.clear()
    ring.push(new Entry(anEvent(900)))
    view.sync()
    expect(shown()).toEqual([900])
  })

  it('keeps base + index constant for an entry on screen', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 30 }), (steps) => {
        const { view, add, entries } = setup(8)
        let places = new Map<number | undefined, number>()
        for (const n of steps) {
          if (n === 9) view.pause()
          else if (n === 8) view.follow()
          else if (n === 7) view.prepend(entries((view.at(0)?.id ?? 0) - 1), 0, false)
          else add(n)
          const now = new Map<number | undefined, number>()
          for (let i = 0; i < view.length; i++) {
            const id = view.at(i)?.id
            expect(places.get(id) ?? view.base + i).toBe(view.base + i)
            now.set(id, view.base + i)
          }
          places = now // an entry that left the screen can return at a different position
        }
      }),
      { examples: [[[7, 1, 8, 7, 7]]] },
    )
  })
})
