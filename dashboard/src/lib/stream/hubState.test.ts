import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '../api/api'
import { HubState, type Announcement, type Calls } from './hubState'
import { aRequest, anEvent, deferred } from '../../testing/factories'
import type { Approvals, BatchResult, Event, Problem, Response, Status } from '../api/types'

class FakeSocket {
  onmessage: ((m: { data: string }) => void) | null = null
  onclose: (() => void) | null = null
  close() {
    // no listener
  }
}

let socket: FakeSocket
let seq: number
let hub: HubState
let happened: Announcement[]
let stored: { recent: Event[]; pending: Event[]; undelivered: Event[] }
let answering: ReturnType<typeof deferred<Event>>
let approving: ReturnType<typeof deferred<BatchResult[]>>
let approved: Approvals | undefined
let searches: (string | undefined)[]
let responded: Response | undefined
const snoozed = new Map<number, number>()

const post = vi.fn((path: string, sent: unknown, body?: unknown) => {
  if (path === '/events/approve') {
    approved = sent as Approvals
    return (approving = deferred<BatchResult[]>()).promise
  }
  if (path === '/events/:id/respond') responded = body as Response
  return (answering = deferred<Event>()).promise
})
const reads: Record<string, (params: { id: number }) => unknown> = {
  '/events/recent': () => stored.recent,
  '/api/risky-calls': () => ({ calls: [] }),
  '/events/:id': ({ id }) => aRequest(id),
}
const calls = {
  find: async (f: { status?: string; before?: number; limit: number }) => {
    searches.push(f.status)
    const all = f.status === 'pending' ? stored.pending : stored.undelivered
    const fitting = all.filter((e) => f.before === undefined || e.id < f.before)
    return fitting.slice(-f.limit)
  },
  get: async (path: string, params: { id: number }) => reads[path]?.(params),
  post,
} as unknown as Calls

const say = (...frames: { type: string; data: unknown }[]) =>
  socket.onmessage?.({ data: JSON.stringify(frames.map((f) => ({ seq: ++seq, ...f }))) })
const ids = (list: { id: number }[]) => list.map((r) => r.id)
const statusOf = (id: number, status: Partial<Status>) => ({
  type: 'status',
  data: { id, humanInTheLoopStatus: { status: 'pending', ...status } },
})
const refuse = (problem: Partial<Problem>) =>
  answering.reject(
    new ApiError({ type: '', title: 'No', status: 500, code: 'internal', error: '', ...problem }),
  )

async function start() {
  hub.start()
  socket.onmessage?.({
    data: JSON.stringify({ type: 'hello', data: { hubId: 'h', seq, serverTime: Date.now(), version: '1' } }),
  })
  await vi.waitFor(() => expect(hub.loaded).toBe(true))
}

beforeEach(() => {
  searches = []
  snoozed.clear()
  seq = 100
  happened = []
  stored = { recent: [], pending: [], undelivered: [] }
  vi.stubGlobal(
    'WebSocket',
    class extends FakeSocket {
      constructor() {
        super()
        // eslint-disable-next-line @typescript-eslint/no-this-alias -- the test talks through it
        socket = this
      }
    },
  )
  hub = new HubState(snoozed, calls)
  hub.onAnnouncement((h) => happened.push(h))
  return () => hub.stop()
})

describe('HubState inbox', () => {
  it('contains every pending request once, regardless of age', async () => {
    stored.pending = [{ ...aRequest(1), source_app: 'old' }, aRequest(2), aRequest(3), aRequest(90)]
    stored.recent = [anEvent(89), aRequest(90)]
    await start()
    expect(ids(hub.lists().needs)).toEqual([1, 2, 3, 90])
    expect(hub.agents.all().map((a) => a.name)).toEqual(['api', 'old'])
    expect(hub.events.length).toBe(2)
    expect(happened).toEqual([])
  })

  it('loads further result pages only if there are any', async () => {
    stored.pending = [aRequest(90)]
    await start()
    expect(searches.toSorted()).toEqual(['pending', 'undelivered'])
    hub.stop()
    hub = new HubState(snoozed, calls)
    stored.pending = Array.from({ length: 2100 }, (_, i) => aRequest(i + 1))
    await start()
    expect(ids(hub.lists().needs)).toEqual(stored.pending.map((e) => e.id))
  })

  it('appends a new request and announces it', async () => {
    stored.pending = [aRequest(90)]
    await start()
    say({ type: 'event', data: aRequest(101) }, { type: 'event', data: anEvent(102) })
    expect(ids(hub.lists().needs)).toEqual([90, 101])
    expect(happened.map((h) => [h.kind, h.request.id])).toEqual([['asked', 101]])
  })

  it('groups requests by outcome', async () => {
    await start()
    const at = Date.now()
    say(
      { type: 'event', data: aRequest(101) },
      { type: 'event', data: aRequest(102) },
      { type: 'event', data: aRequest(103) },
      statusOf(101, { status: 'responded', revision: 2, outcome: 'approve', respondedAt: at }),
      statusOf(102, {
        status: 'responded',
        revision: 2,
        respondedAt: at + 1,
        delivery: { state: 'unreachable', attempts: 1 },
      }),
      statusOf(103, {
        status: 'timeout',
        revision: 2,
        respondedAt: at + 2,
        delivery: { state: 'unreachable', attempts: 1 },
      }),
      { type: 'event', data: aRequest(104) },
      statusOf(104, {
        status: 'responded',
        source: 'rule',
        revision: 2,
        respondedAt: at + 3,
        delivery: { state: 'unreachable', attempts: 1 },
      }),
    )
    const { needs, undelivered, settled } = hub.lists()
    expect([ids(needs), ids(undelivered), ids(settled)]).toEqual([[], [102], [104, 103, 101]])
    say(
      statusOf(102, {
        status: 'responded',
        revision: 3,
        respondedAt: at + 1,
        delivery: { state: 'unreachable', attempts: 1, handledAt: at + 2 },
      }),
    )
    expect(ids(hub.lists().undelivered)).toEqual([])
    expect(ids(hub.lists().settled)).toEqual([104, 103, 102, 101])
  })

  it('ignores older revisions', async () => {
    await start()
    say(
      { type: 'event', data: aRequest(101) },
      statusOf(101, { status: 'responded', revision: 3 }),
      statusOf(101, { status: 'pending', revision: 2 }),
    )
    expect(hub.request(101)?.status.status).toBe('responded')
  })

  it('updates the events of the stream', async () => {
    await start()
    say({ type: 'event', data: aRequest(101) }, statusOf(101, { status: 'responded', revision: 2 }))
    expect(hub.events.find(101)?.event.humanInTheLoopStatus?.status).toBe('responded')
  })

  it('fetches an old request that is pending again', async () => {
    await start()
    say(statusOf(7, { status: 'pending', revision: 4 }))
    await vi.waitFor(() => expect(ids(hub.lists().needs)).toEqual([7]))
  })
})

describe('HubState answer', () => {
  beforeEach(async () => {
    stored.pending = [aRequest(90)]
    await start()
  })

  it('counts immediately, and reports its delivery', async () => {
    const taken = hub.answer(90, { permission: true })
    expect(ids(hub.lists().needs)).toEqual([])
    expect(ids(hub.lists().settled)).toEqual([90])
    answering.resolve(
      aRequest(90, {}, { status: 'responded', revision: 2, delivery: { state: 'sending', attempts: 1 } }),
    )
    expect(await taken).toBe(true)
    expect(hub.request(90)).toMatchObject({
      mine: true,
      submission: undefined,
      status: { status: 'responded' },
    })
    say(
      statusOf(90, {
        status: 'responded',
        revision: 3,
        delivery: { state: 'acked', attempts: 1, deliveredAt: 5 },
      }),
    )
    expect(happened.map((h) => h.kind)).toEqual(['reached'])
  })

  it('reports a delivery that was faster than the response', async () => {
    const taken = hub.answer(90, { permission: true })
    const delivery = { state: 'acked', attempts: 1, deliveredAt: 5 } as const
    say(statusOf(90, { status: 'responded', revision: 3, delivery }))
    expect(happened).toEqual([])
    answering.resolve(aRequest(90, {}, { status: 'responded', revision: 3, delivery }))
    expect(await taken).toBe(true)
    expect(happened.map((h) => h.kind)).toEqual(['reached'])
  })

  it('is refused while the page has only a summary of the request', async () => {
    const toolCall = { name: 'Bash', arguments: { command: 'ls …' } }
    const listed = { type: 'event', data: { ...aRequest(104, { toolCall }), questionTruncated: true } }
    responded = approved = undefined
    say(listed)
    const shortened = hub.request(104)!
    expect(await hub.answer(104, { permission: true })).toBe(false)
    expect(await hub.withProof(104, { permission: true }, async () => ({}) as never)).toBeUndefined()
    expect(ids(await hub.approve([shortened], 0))).toEqual([104])
    expect([responded, approved]).toEqual([undefined, undefined])

    expect((await hub.fetchWhole([shortened]))[0]?.event.questionTruncated).toBeUndefined()
    say(listed) // a list or a frame does not take it away
    expect(hub.request(104)?.event.questionTruncated).toBeUndefined()
    expect(hub.request(104)?.question.toolCall).toBeUndefined()
    void hub.answer(104, { permission: true })
    expect(responded).toEqual({ permission: true })
  })

  it('keeps the status of a whole request when a list has a summary of the same revision', () => {
    const findings = [{ code: 'recursive_delete', risk: 'high' as const, text: 'Deletes everything.' }]
    const whole = aRequest(105)
    whole.humanInTheLoopStatus = { status: 'pending', revision: 4, findings }
    say({ type: 'event', data: whole })
    const summary = { ...aRequest(105), questionTruncated: true }
    summary.humanInTheLoopStatus = { status: 'pending', revision: 4 }
    say({ type: 'event', data: summary })
    expect(hub.request(105)?.status.findings).toEqual(findings)
    expect(hub.request(105)?.event.questionTruncated).toBeUndefined()

    // A newer one takes no answer until the request is fetched again: findings may have changed.
    summary.humanInTheLoopStatus = { status: 'pending', revision: 5 }
    say({ type: 'event', data: summary })
    expect(hub.request(105)?.status.revision).toBe(5)
    expect(hub.request(105)?.event.questionTruncated).toBe(true)
  })

  it('is sent once; a second one is ignored', async () => {
    void hub.answer(90, { permission: true })
    expect(await hub.answer(90, { permission: false })).toBe(false)
  })

  it('reopens the request if the hub rejects it', async () => {
    const taken = hub.answer(90, { permission: true })
    refuse({ code: 'busy', detail: 'the hub has too much to do' })
    expect(await taken).toBe(false)
    expect(ids(hub.lists().needs)).toEqual([90])
    expect(hub.request(90)?.problem?.detail).toBe('the hub has too much to do')
    expect(happened.map((h) => h.kind)).toEqual(['failed'])
  })

  it('shows the winner after a lost race', async () => {
    const taken = hub.answer(90, { permission: true })
    const won: Status = {
      status: 'responded',
      revision: 2,
      outcome: 'deny',
      respondedAt: Date.now(),
      source: 'human',
      respondedBy: { name: 'mara', verified: false },
    }
    refuse({ code: 'decided', status: 409, humanInTheLoopStatus: won })
    expect(await taken).toBe(false)
    expect(hub.request(90)).toMatchObject({
      mine: false,
      status: { outcome: 'deny', respondedBy: { name: 'mara' } },
    })
    expect(ids(hub.lists().settled)).toEqual([90])
  })

  it('survives updates of the request while being sent', async () => {
    void hub.answer(90, { permission: true })
    say(statusOf(90, { status: 'pending', revision: 2, waiter: 'lost' }))
    expect(ids(hub.lists().needs)).toEqual([])
  })

  it('can cancel the request', async () => {
    const taken = hub.cancel(90, 'not today')
    expect(hub.request(90)?.submission?.cancel).toBe('not today')
    // The revision names the duplicates that the card showed.
    expect(post).toHaveBeenLastCalledWith(
      '/events/:id/cancel',
      { id: 90 },
      { reason: 'not today', revision: hub.request(90)?.status.revision },
    )
    expect(hub.request(90)?.status.revision).toBeGreaterThan(0)
    answering.resolve(aRequest(90, {}, { status: 'error', outcome: '__cancelled__', revision: 2 }))
    expect(await taken).toBe(true)
  })
})

describe('HubState memory', () => {
  it('evicts old settled requests, but no pending ones', async () => {
    stored.pending = [aRequest(1)]
    await start()
    for (let id = 101; id < 1101; id++) {
      say({ type: 'event', data: aRequest(id, {}, { status: 'responded', revision: 2, respondedAt: id }) })
    }
    const held = Array.from({ length: 1101 }, (_, id) => id).filter((id) => hub.request(id))
    expect(held.length).toBeLessThanOrEqual(500)
    expect(held).toContain(1)
    expect(held).toContain(1100)
  })
})

describe('HubState connection', () => {
  it('detects a newer page on the hub', async () => {
    const greet = (page?: string) =>
      socket.onmessage?.({
        data: JSON.stringify({
          type: 'hello',
          data: { hubId: 'h', seq, serverTime: Date.now(), version: '1', page },
        }),
      })
    await start()
    expect(hub.outdated).toBe(false)
    greet('a')
    expect(hub.outdated, 'a hub that names its page for the first time').toBe(false)
    greet('a')
    expect(hub.outdated).toBe(false)
    greet('b')
    expect(hub.outdated).toBe(true)
  })

  it('measures the lag of events after catching up', async () => {
    const uid = (ms: number) => {
      const hex = ms.toString(16).padStart(12, '0')
      return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
    }
    await start()
    say({ type: 'event', data: anEvent(1000, { uid: uid(Date.now()) }) })
    expect(hub.lag).toBeLessThan(1000)
    say({ type: 'event', data: anEvent(1001, { uid: uid(Date.now() - 60_000) }) })
    expect(hub.lag).toBeGreaterThan(50_000)
  })
})

const refusal = (code: string): Problem => ({ type: '', title: 'No', status: 409, code, error: '' })
const held = (id: number, revision = 2) =>
  aRequest(id, {}, { revision, held: { until: Date.now() + 5000, outcome: 'approve' } })

describe('Bulk approval', () => {
  it('sends the revisions that were shown, with a result for each', async () => {
    await start()
    say(...[101, 102, 103].map((id) => ({ type: 'event', data: aRequest(id) })))
    const seen = hub.lists().needs
    say(statusOf(103, { status: 'responded', revision: 2, outcome: 'deny' }))
    const done = hub.approve(seen, 5000)
    expect(ids(hub.lists().needs)).toEqual([])
    expect(approved).toEqual({
      requests: [
        { id: 101, revision: 1 },
        { id: 102, revision: 1 },
      ],
      holdMs: 5000,
    })
    approving.resolve([{ event: held(101) }, { problem: refusal('changed') }])
    expect(ids(await done)).toEqual([102, 103])
    expect(hub.request(101)).toMatchObject({ mine: true, submission: undefined })
    expect(hub.request(102)?.problem?.code).toBe('changed')
    expect(ids(hub.lists().needs)).toEqual([102])
  })

  it('reopens the requests if the hub is offline', async () => {
    await start()
    say({ type: 'event', data: aRequest(101) }, { type: 'event', data: aRequest(102) })
    const done = hub.approve(hub.lists().needs, 5000)
    approving.reject(new ApiError(refusal('unreachable')))
    expect(ids(await done)).toEqual([101, 102])
    expect(ids(hub.lists().needs)).toEqual([101, 102])
  })
})

describe('Undo window', () => {
  it('settles the request, and reopens it with free keys after an undo', async () => {
    await start()
    say({ type: 'event', data: aRequest(101) })
    const done = hub.answer(101, { permission: true, holdMs: 5000 })
    answering.resolve(held(101))
    await done
    expect([ids(hub.lists().needs), ids(hub.lists().settled)]).toEqual([[], [101]])
    const undone = hub.undo(101)
    expect(hub.request(101)?.busy).toBe(true)
    answering.resolve(aRequest(101, {}, { revision: 3 }))
    expect(await undone).toBeUndefined()
    expect(ids(hub.lists().needs)).toEqual([101])
    expect(hub.request(101)).toMatchObject({ mine: false, busy: undefined })
  })

  it('reports why an undo failed', async () => {
    await start()
    say({ type: 'event', data: held(101) })
    const undone = hub.undo(101)
    refuse({
      code: 'not_held',
      humanInTheLoopStatus: { status: 'responded', revision: 3, outcome: 'approve' },
    })
    expect((await undone)?.code).toBe('not_held')
    expect(hub.request(101)?.status.status).toBe('responded')
    expect(await hub.undo(101)).toBeUndefined()
  })
})

describe('Snoozed request', () => {
  it('returns after its time, at least a minute before its deadline', async () => {
    await start()
    vi.useFakeTimers()
    const now = Date.now()
    say(
      { type: 'event', data: aRequest(101) },
      { type: 'event', data: aRequest(102, {}, { expiresAt: now + 90_000 }) },
    )
    hub.snooze(101, hub.clock.now() + 300_000)
    hub.snooze(102, hub.clock.now() + 300_000)
    expect([ids(hub.lists().needs), ids(hub.lists().snoozed)]).toEqual([[], [101, 102]])
    hub.clock.sync(now + 31_000)
    await vi.advanceTimersByTimeAsync(31_000)
    expect([ids(hub.lists().needs), ids(hub.lists().snoozed)]).toEqual([[102], [101]])
    hub.snooze(101, 0)
    expect(ids(hub.lists().needs)).toEqual([101, 102])
    vi.useRealTimers()
  })
})

describe('Agent activity', () => {
  it('continues if its session has events after the answer', async () => {
    await start()
    const at = Date.now()
    const timed = (id: number, ms: number, more = {}) => ({
      type: 'event',
      data: anEvent(id, { timestamp: ms, ...more }),
    })
    say(
      { type: 'event', data: { ...aRequest(101), timestamp: at - 10 } },
      timed(102, at - 5),
      statusOf(101, { status: 'responded', revision: 2, respondedAt: at }),
      timed(103, at + 5, { session_id: 'other' }),
    )
    const now = () => hub.request(101) as NonNullable<ReturnType<typeof hub.request>>
    expect(hub.nextEventAfter(now())).toBeUndefined()
    say(timed(104, at + 6), timed(105, at + 7))
    expect(hub.nextEventAfter(now())?.id).toBe(104)
  })
})

describe('Vote', () => {
  const asking = { requiredApprovals: 2, recipients: ['mara', 'noor'], awaiting: ['mara', 'noor'] }
  const voted = (by: string, more: Partial<Status> = {}) =>
    aRequest(101, {}, { ...asking, revision: 2, votes: [{ user: by, choice: 'approve', at: 1 }], ...more })

  it('waits for others after my vote, or if I am not a recipient', async () => {
    await start()
    say({ type: 'event', data: aRequest(101, {}, asking) })
    expect(ids(hub.lists().votes)).toEqual([101]) // not a recipient before sign-in
    hub.setUser('mara')
    expect(ids(hub.lists().needs)).toEqual([101])
    const sent = hub.answer(101, { permission: true, revision: 1 })
    expect(hub.request(101)).toMatchObject({ busy: true, submission: undefined })
    expect(await hub.answer(101, { permission: false })).toBe(false)
    answering.resolve(voted('mara', { awaiting: ['noor'] }))
    expect(await sent).toBe(true)
    expect(responded).toEqual({ permission: true, revision: 1 })
    expect(hub.request(101)).toMatchObject({ busy: undefined, mine: false })
    expect([ids(hub.lists().needs), ids(hub.lists().votes)]).toEqual([[], [101]])
  })

  it('belongs to the user with the deciding vote', async () => {
    await start()
    hub.setUser('mara')
    say({ type: 'event', data: aRequest(101, {}, asking) })
    const sent = hub.answer(101, { permission: true })
    answering.resolve(voted('mara', { status: 'responded', outcome: 'approve', source: 'quorum' }))
    await sent
    expect(hub.request(101)?.mine).toBe(true)
  })

  it('reopens with the edited call if it changed meanwhile', async () => {
    await start()
    hub.setUser('mara')
    say({ type: 'event', data: aRequest(101, {}, asking) })
    const sent = hub.answer(101, { permission: true, revision: 1 })
    const edited = { arguments: { command: 'ls' }, by: 'noor', at: 1, revision: 3 }
    const status = { ...asking, status: 'pending' as const, revision: 3, edited }
    refuse({ code: 'stale', humanInTheLoopStatus: status })
    expect(await sent).toBe(false)
    expect(hub.request(101)).toMatchObject({
      busy: undefined,
      status: { edited },
      problem: { code: 'stale' },
    })
    expect(ids(hub.lists().needs)).toEqual([101])
  })
})
