import { describe, expect, it, vi } from 'vitest'
import { Entry } from '../../lib/stream/eventView'
import { RingBuffer } from '../../lib/stream/ringBuffer'
import { aRequest, anEvent, deferred } from '../../testing/factories'
import type { Event, Status } from '../../lib/api/types'
import { SessionLoader } from './sessionLoader'

/** A fake hub with a log and a stream. */
function fakeHub(log: Event[]) {
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
  const loader = new SessionLoader('api', 's1', { source, calls: { find, event } }, changed)
  const stream = (...more: Event[]) => {
    for (const e of more) events.push(new Entry(e))
    loader.sync()
  }
  return { feed: loader, find, event, statuses, changed, stream, source }
}
const many = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => anEvent(from + i))

describe('SessionLoader', () => {
  it('loads all pages and reports each', async () => {
    const { feed: loader, find, changed } = fakeHub(many(1, 2500))
    await loader.load()
    expect(find.mock.calls.map(([q]) => q.after)).toEqual([0, 1000, 2000])
    expect(find.mock.calls[0]?.[0]).toMatchObject({ source_app: 'api', session_id: 's1', limit: 1000 })
    expect([loader.session.events, loader.phase]).toEqual([2500, 'live'])
    expect(changed).toHaveBeenCalledTimes(3)
  })

  it('reports a failure and resumes', async () => {
    const { feed: loader, find } = fakeHub(many(1, 1500))
    find.mockImplementationOnce(() => Promise.resolve(many(1, 1000)))
    find.mockImplementationOnce(() => Promise.reject(new Error('gone')))
    await loader.load()
    expect([loader.phase, loader.problem, loader.session.events]).toEqual(['failed', 'gone', 1000])
    await loader.load()
    expect([loader.phase, loader.session.events]).toEqual(['live', 1500])
  })

  it('ignores results after stop', async () => {
    const { feed: loader, find, changed } = fakeHub([])
    const page = deferred<Event[]>()
    find.mockReturnValueOnce(page.promise)
    const done = loader.load()
    loader.stop()
    page.resolve(many(1, 3))
    await done
    expect(loader.session.events).toBe(0)
    expect(changed).not.toHaveBeenCalled()
  })
})

describe('SessionLoader stream', () => {
  it('adds later events of this session only', async () => {
    const { feed: loader, stream } = fakeHub(many(1, 3))
    await loader.load()
    stream(anEvent(4), anEvent(5, { session_id: 'other' }), anEvent(6, { source_app: 'web' }), anEvent(7))
    expect(loader.session.events).toBe(5)
    expect(loader.session.lastId).toBe(7)
    stream(anEvent(8))
    expect(loader.session.lastId).toBe(8)
  })

  it('waits for the log, without duplicates', async () => {
    const { feed: loader, find, stream } = fakeHub(many(1, 3))
    const page = deferred<Event[]>()
    find.mockReturnValueOnce(page.promise)
    const done = loader.load()
    stream(anEvent(2), anEvent(3), anEvent(4))
    expect(loader.session.events).toBe(0)
    page.resolve(many(1, 3))
    await done
    expect(loader.session.events).toBe(4)
  })

  it('reads the log again after a gap', async () => {
    const log = many(1, 3)
    const { feed: loader, find, stream } = fakeHub(log)
    await loader.load()
    log.push(...many(4, 9))
    stream(...many(8, 9))
    await vi.waitFor(() => expect(loader.session.events).toBe(9))
    expect(find).toHaveBeenCalledTimes(2)
    stream(anEvent(10))
    expect(loader.session.lastId).toBe(10)
    expect(find).toHaveBeenCalledTimes(2)
  })
})

describe('SessionLoader questions', () => {
  it('updates the status from the hub state', async () => {
    const { feed: loader, statuses, stream } = fakeHub([aRequest(1)])
    statuses.set(1, { status: 'pending', revision: 1 })
    await loader.load()
    expect([...loader.session.pendingQuestions]).toEqual([1])
    statuses.set(1, { status: 'responded', revision: 2, outcome: 'approve', respondedAt: 1_700_000_009_001 })
    loader.sync()
    expect([...loader.session.pendingQuestions]).toEqual([])
    expect(loader.session.waits[0]?.state).toBe('answered')
    stream()
  })

  it('fetches questions that ended earlier, once', async () => {
    const { feed: loader, event } = fakeHub([aRequest(1)])
    event.mockResolvedValueOnce(
      aRequest(1, {}, { status: 'timeout', revision: 3, respondedAt: 1_700_000_005_000 }),
    )
    await loader.load()
    await vi.waitFor(() => expect(loader.session.waits[0]?.state).toBe('unanswered'))
    loader.sync()
    expect(event).toHaveBeenCalledTimes(1)
  })

  it('fetches no question before the hub state is loaded', async () => {
    const { feed: loader, event, source } = fakeHub([aRequest(1)])
    source.loaded = false
    await loader.load()
    expect(event).not.toHaveBeenCalled()
  })
})
