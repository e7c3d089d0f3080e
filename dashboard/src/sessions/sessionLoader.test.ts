import { describe, expect, it, vi } from 'vitest'
import { Entry } from '../eventView'
import { RingBuffer } from '../ringBuffer'
import { aRequest, anEvent, deferred } from '../testing/factories'
import type { Event, Status } from '../types'
import { SessionLoader } from './sessionLoader'

/** A hub with a log and a stream, as far as a feed sees them. */
function aHub(log: Event[]) {
  const events = new RingBuffer<Entry>(1000)
  const statuses = new Map<number, Status>()
  const changed = vi.fn()
  const find = vi.fn(({ after = 0, limit = 0 }: { after?: number; limit?: number }) =>
    Promise.resolve(log.filter((e) => e.id > after).slice(0, limit)),
  )
  const event = vi.fn((id: number) => Promise.resolve(log.find((e) => e.id === id) as Event))
  const source = {
    events,
    loaded: true,
    request: (id: number) => (statuses.has(id) ? { status: statuses.get(id) as Status } : undefined),
  }
  const feed = new SessionLoader('api', 's1', { source, calls: { find, event } }, changed)
  const stream = (...more: Event[]) => {
    for (const e of more) events.push(new Entry(e))
    feed.sync()
  }
  return { feed, find, event, statuses, changed, stream, source }
}
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => anEvent(from + i))

describe('loading', () => {
  it('goes on page by page to the end and tells of each', async () => {
    const { feed, find, changed } = aHub(many(1, 2500))
    await feed.load()
    expect(find.mock.calls.map(([q]) => q.after)).toEqual([0, 1000, 2000])
    expect(find.mock.calls[0]?.[0]).toMatchObject({ source_app: 'api', session_id: 's1', limit: 1000 })
    expect([feed.session.events, feed.phase]).toEqual([2500, 'live'])
    expect(changed).toHaveBeenCalledTimes(3)
  })

  it('says why it failed, and goes on where it was', async () => {
    const { feed, find } = aHub(many(1, 1500))
    find.mockImplementationOnce(() => Promise.resolve(many(1, 1000)))
    find.mockImplementationOnce(() => Promise.reject(new Error('gone')))
    await feed.load()
    expect([feed.phase, feed.problem, feed.session.events]).toEqual(['failed', 'gone', 1000])
    await feed.load()
    expect([feed.phase, feed.session.events]).toEqual(['live', 1500])
  })

  it('stops when the page has gone elsewhere', async () => {
    const { feed, find, changed } = aHub([])
    const page = deferred<Event[]>()
    find.mockReturnValueOnce(page.promise)
    const done = feed.load()
    feed.stop()
    page.resolve(many(1, 3))
    await done
    expect(feed.session.events).toBe(0)
    expect(changed).not.toHaveBeenCalled()
  })
})

describe('the stream', () => {
  it('brings what comes after, of this session only', async () => {
    const { feed, stream } = aHub(many(1, 3))
    await feed.load()
    stream(anEvent(4), anEvent(5, { session_id: 'other' }), anEvent(6, { source_app: 'web' }), anEvent(7))
    expect(feed.session.events).toBe(5)
    expect(feed.session.lastId).toBe(7)
    stream(anEvent(8))
    expect(feed.session.lastId).toBe(8)
  })

  it('waits until the log has been read, and repeats nothing', async () => {
    const { feed, find, stream } = aHub(many(1, 3))
    const page = deferred<Event[]>()
    find.mockReturnValueOnce(page.promise)
    const done = feed.load()
    stream(anEvent(2), anEvent(3), anEvent(4))
    expect(feed.session.events).toBe(0)
    page.resolve(many(1, 3))
    await done
    expect(feed.session.events).toBe(4)
  })

  it('that begins after the log ended makes it read the log again', async () => {
    const log = many(1, 3)
    const { feed, find, stream } = aHub(log)
    await feed.load()
    log.push(...many(4, 9))
    stream(...many(8, 9))
    await vi.waitFor(() => expect(feed.session.events).toBe(9))
    expect(find).toHaveBeenCalledTimes(2)
    stream(anEvent(10))
    expect(feed.session.lastId).toBe(10)
    expect(find).toHaveBeenCalledTimes(2)
  })
})

describe('questions', () => {
  it('follow what the page knows of them', async () => {
    const { feed, statuses, stream } = aHub([aRequest(1)])
    statuses.set(1, { status: 'pending', revision: 1 })
    await feed.load()
    expect([...feed.session.pendingQuestions]).toEqual([1])
    statuses.set(1, { status: 'responded', revision: 2, outcome: 'approve', respondedAt: 1_700_000_009_001 })
    feed.sync()
    expect([...feed.session.pendingQuestions]).toEqual([])
    expect(feed.session.waits[0]?.state).toBe('answered')
    stream()
  })

  it('that ended before the page looked are asked for, once', async () => {
    const { feed, event } = aHub([aRequest(1)])
    event.mockResolvedValueOnce(
      aRequest(1, {}, { status: 'timeout', revision: 3, respondedAt: 1_700_000_005_000 }),
    )
    await feed.load()
    await vi.waitFor(() => expect(feed.session.waits[0]?.state).toBe('unanswered'))
    feed.sync()
    expect(event).toHaveBeenCalledTimes(1)
  })

  it('are not asked for before the page knows what waits', async () => {
    const { feed, event, source } = aHub([aRequest(1)])
    source.loaded = false
    await feed.load()
    expect(event).not.toHaveBeenCalled()
  })
})
