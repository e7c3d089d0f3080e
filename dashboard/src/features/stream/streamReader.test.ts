import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { problem } from '../../lib/api/api'
import { Entry } from '../../lib/stream/eventView'
import { hub } from '../../lib/stream/liveState.svelte'
import { clearRatings } from '../../lib/stream/ratings'
import { anEvent } from '../../testing/factories'
import { StreamReader } from './streamReader.svelte'

const unavailable = problem('Unavailable', 503, 'unavailable', 'Busy')
const rating = { id: 2, source_app: 'api', session_id: 's1', tool_name: 'Bash', risk: 'high', outcome: 'ran' }

interface Question {
  before?: number
  after?: number
  limit: number
}

let reader: StreamReader
/** The fake hub has the events 1 to newest, of which each filter matches those with even ids. */
let newest: number
let asked: Question[]
/** How long an answer takes, ms. */
let takes: number
let fails: boolean

const evens = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i).filter((id) => id % 2 === 0)

function matching({ before, after = 0, limit }: Question) {
  const all = evens(after + 1, Math.min(newest, (before ?? Infinity) - 1))
  const ids = before === undefined ? all.slice(0, limit) : all.slice(-limit)
  const complete = ids.length === all.length
  const edge = before === undefined ? [newest, ids.at(-1)] : [1, ids[0]]
  return { events: ids.map((id) => anEvent(id)), complete, searchedTo: edge[complete ? 0 : 1] }
}

async function answer(path: string) {
  const { pathname, searchParams } = new URL(path, 'http://hub')
  if (pathname === '/api/risky-calls') return Response.json({ calls: [rating] })
  if (pathname === '/events') return Response.json([])
  const numbers: unknown = Object.fromEntries([...searchParams].map(([name, value]) => [name, Number(value)]))
  const question = numbers as Question
  asked.push(question)
  const found = fails ? unavailable : matching(question)
  if (takes > 0) await new Promise((done) => setTimeout(done, takes))
  return Response.json(found, { status: found === unavailable ? 503 : 200 })
}

/** The hub gets events, and the page receives them. */
function arrive(n: number, held = n) {
  newest += n
  for (let id = newest - held + 1; id <= newest; id++) hub.events.push(new Entry(anEvent(id)))
  reader.followLive()
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms)
/** The questions about new events, by the id after which they are. */
const live = () => asked.flatMap(({ after }) => after ?? [])
/** The questions about the history, by the id before which it is. */
const loads = () => asked.flatMap(({ before }) => before ?? [])

function shown() {
  const { view } = reader
  view.sync(hub.clock.now())
  return Array.from({ length: view.length }, (_, i) => view.at(i)?.id)
}

/** Opens the page with a filter, when the hub has 100 events, and waits for the rows. */
async function open(filter = 'x') {
  arrive(100)
  reader.setFilter(filter, {})
  await advance(150)
  asked.length = 0
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', answer)
  newest = 0
  asked = []
  takes = 0
  fails = false
  hub.loaded = true
  reader = new StreamReader()
})

afterEach(() => {
  reader.close()
  vi.runOnlyPendingTimers() // also the frame of the hub, which other tests use
  hub.events.clear()
  hub.loaded = false
  clearRatings()
})

describe('StreamReader', () => {
  it('shows the matches of the history and of the new events', async () => {
    arrive(100, 10)
    reader.setFilter('x', {})
    await advance(150)
    expect([shown(), loads(), live()]).toEqual([evens(1, 100), [101], []])
    arrive(3)
    await advance(300)
    expect([shown(), loads(), live()]).toEqual([evens(1, 103), [101], [100]])
  })

  it('keeps the rows of a link with a filter and an event when it follows again', async () => {
    arrive(300, 100)
    reader.setFilter('x', {})
    reader.pause()
    expect(await reader.goTo(250)).toBe(true)
    expect([shown(), reader.view.detached]).toEqual([evens(52, 300), false])
    arrive(4)
    await advance(300)
    expect([shown(), reader.view.fresh]).toEqual([evens(52, 300), 2])
    reader.follow()
    await advance(300)
    expect([shown(), reader.view.paused, reader.view.complete]).toEqual([evens(1, 304), false, true])
  })

  it('has no gap after an event of a link if the rows after it could not be loaded at first', async () => {
    arrive(3000)
    reader.setFilter('x', {})
    takes = 100
    const going = reader.goTo(500)
    await advance(50)
    fails = true
    await advance(150)
    await going
    expect([shown(), reader.error]).toEqual([evens(302, 500), 'Busy'])
    fails = false
    takes = 0
    reader.retry()
    await reader.loadNewer()
    expect(shown()).toEqual(evens(302, 900))
  })

  it('counts the rows of the history once, also without new matches', async () => {
    await open()
    const seen: number[] = []
    const count = (cursor: number) => {
      reader.view.newest(cursor, (entry) => seen.push(entry.id) > 0)
      return reader.view.end
    }
    let cursor = count(0)
    expect(seen).toHaveLength(50)
    cursor = count(cursor)
    expect(seen).toHaveLength(50)
    arrive(2)
    await advance(300)
    shown()
    count(cursor)
    expect(seen.slice(50)).toEqual([102])
  })

  it('reports rows above others, but not the first ones', async () => {
    const onPrepend = (reader.onPrepend = vi.fn())
    arrive(600)
    reader.setFilter('x', {})
    await advance(150)
    expect(shown()).toEqual(evens(1, 600))
    expect(onPrepend.mock.calls).toEqual([[100]]) // the second answer
  })

  it('loads everything again from another history', async () => {
    await open()
    hub.replacements++
    hub.loaded = false
    hub.events.clear()
    newest = 0
    arrive(10)
    await advance(1000)
    expect(asked).toEqual([])
    hub.loaded = true
    reader.retry()
    await advance(1000)
    expect([shown(), loads()]).toEqual([evens(1, 10), [11]])
    arrive(2)
    await advance(300)
    expect(shown()).toEqual(evens(1, 12))
  })
})

describe('StreamReader with ratings', () => {
  it('does not search again because of the ratings of its own rows', async () => {
    const before = hub.ratingChanges
    await open('risk:high')
    expect(hub.ratingChanges).toBeGreaterThan(before)
    reader.followLive()
    await advance(10_000)
    expect(asked).toEqual([])
  })

  it('loads once for the ratings that the hub sends within 5 s', async () => {
    await open('risk:high')
    await advance(850) // since the filter: 1 s
    for (let at = 1000; at < 4600; at += 400) {
      hub.liveRatings++
      arrive(1)
      await advance(400)
    }
    expect([loads(), live().length > 1]).toEqual([[], true])
    await advance(1400) // since the first rating: 5 s
    expect(loads()).toEqual([110])
    await advance(10_000)
    expect([loads(), shown()]).toEqual([[110], evens(1, 109)])
    hub.liveRatings++
    reader.followLive()
    await advance(5000)
    expect(loads()).toEqual([110, 110])
  })

  it('ends a search that takes longer than 5 s', async () => {
    arrive(600)
    takes = 4000
    reader.setFilter('risk:high', {})
    for (let s = 0; s < 9; s++) {
      hub.liveRatings++
      reader.followLive()
      await advance(1000)
    }
    expect(shown()).toEqual(evens(1, 600)) // two answers
  })

  it('loads again for a rating that came during the search', async () => {
    arrive(100)
    takes = 1000
    reader.setFilter('risk:high', {})
    await advance(500)
    hub.liveRatings++
    reader.followLive()
    await advance(6000)
    expect(loads()).toEqual([101, 101])
  })

  it('does not start a canceled search', async () => {
    arrive(100)
    takes = 1000
    reader.setFilter('risk:high', {})
    await advance(150)
    reader.cancel()
    hub.liveRatings++
    reader.followLive()
    await advance(10_000)
    expect([loads(), reader.canceled]).toEqual([[101], true])
  })
})

describe('StreamReader and the questions about new events', () => {
  it('asks again 5 s after an error', async () => {
    await open()
    fails = true
    arrive(2)
    await advance(300)
    expect(live()).toEqual([100])
    fails = false
    for (let i = 0; i < 7; i++) {
      arrive(2)
      await advance(700)
    }
    expect(live()).toEqual([100])
    await advance(100)
    expect([live(), shown()]).toEqual([[100, 100], evens(1, 116)])
  })

  it.each([
    ['before', 0],
    ['after', 1000],
  ])('does not ask again when closed %s the answer is an error', async (_, until) => {
    await open()
    fails = true
    takes = 800
    arrive(2)
    await advance(300 + until)
    reader.close()
    await advance(20_000)
    expect(live()).toEqual([100])
  })

  it('asks about events that came during the first search', async () => {
    arrive(100)
    reader.setFilter('', {})
    takes = 1000
    reader.setFilter('x', {})
    await advance(150)
    arrive(4)
    await advance(999)
    expect([loads(), live()]).toEqual([[101], []])
    takes = 0
    await advance(301)
    expect([live(), shown()]).toEqual([[100], evens(1, 104)])
  })

  it('adds each match once if it is asked to retry before the answer', async () => {
    await open()
    takes = 1000
    arrive(2)
    await advance(300)
    reader.retry()
    await advance(2000)
    expect(shown()).toEqual(evens(1, 102))
  })

  it('shows the rows of a filter without an answer when the search is canceled', async () => {
    arrive(100)
    reader.setFilter('', {})
    takes = 1000
    reader.setFilter('x', {})
    await advance(150)
    expect(shown()).toHaveLength(100)
    reader.cancel()
    expect([shown(), reader.canceled, reader.searchProgress]).toEqual([[], true, undefined])
    reader.retry()
    await advance(10_000)
    expect([shown(), loads()]).toEqual([[], [101]])
    arrive(2)
    await advance(1300)
    expect(shown()).toEqual([102])
  })
})
