import { beforeEach, describe, expect, it, vi } from 'vitest'
import { anEvent, deferred } from '../../testing/factories'
import type { Freeze } from '../../lib/api/schema'
import { freezeSentence } from '../../lib/format/freezeSentence'
import { freezeOf } from '../../lib/stream/freezes'
import { hub } from '../../lib/stream/liveState.svelte'
import { countsText, freezes, frozenText } from './freezes.svelte'

const all: Freeze = { id: 1, scope: 'all', by: 'Ada', created_at: 1 }
const app: Freeze = { id: 2, scope: 'app', source_app: 'api', by: 'Bo', created_at: 2 }
const session: Freeze = { id: 3, scope: 'session', source_app: 'api', session_id: 's1', created_at: 3 }

const reply = (status: number, body: unknown) =>
  vi.stubGlobal(
    'fetch',
    vi.fn(() => Promise.resolve(new Response(JSON.stringify(body), { status }))),
  )

beforeEach(() => {
  hub.setFreezes([])
  freezes.dismiss()
})

describe('Freeze', () => {
  it('stops the agents of its scope', () => {
    expect(freezeOf([all], anEvent(1))).toBe(all)
    expect(freezeOf([app], anEvent(1))).toBe(app)
    expect(freezeOf([app], anEvent(1, { source_app: 'web' }))).toBeUndefined()
    expect(freezeOf([session], anEvent(1))).toBe(session)
    expect(freezeOf([session], anEvent(1, { session_id: 's2' }))).toBeUndefined()
  })

  it('names who froze what', () => {
    expect(freezeSentence(all)).toBe('Ada froze all agents.')
    expect(freezeSentence(app)).toBe('Bo froze the agents of api.')
    expect(freezeSentence(session)).toBe('Someone froze one session of api.')
    expect(freezeSentence({ ...all, by: 'local user' })).toBe(
      'Someone on the hub’s machine froze all agents.',
    )
    expect(freezeSentence({ ...all, by: 'agent build' })).toBe('Agent build froze all agents.')
  })

  it('shows at once, before the stream reports it, and only once', async () => {
    reply(201, all)
    expect(await freezes.freezeAll()).toBe(true)
    expect(await freezes.freezeAll()).toBe(true)
    expect(hub.freezes).toEqual([all])
  })

  it('keeps the freeze and the reason if lifting it is refused', async () => {
    hub.setFreezes([all])
    reply(403, { title: 'Forbidden', status: 403, code: 'not_allowed', detail: 'only operators' })
    expect(await freezes.resume(1)).toBe(false)
    expect(hub.freezes).toEqual([all])
    expect(freezes.failure).toMatchObject({ title: 'Not resumed.', problem: { status: 403 } })
  })

  it('keeps no reason once another person lifted it, or froze what was to be frozen', async () => {
    hub.setFreezes([all, app])
    reply(403, { title: 'Forbidden', status: 403, code: 'not_allowed', detail: 'only operators' })
    await freezes.resume(1)
    hub.setFreezes([all])
    expect(freezes.failure?.title).toBe('Not resumed.')
    hub.setFreezes([])
    expect(freezes.failure).toBeUndefined()
    await freezes.freezeAll()
    hub.setFreezes([app])
    expect(freezes.failure?.title).toBe('Agents were not frozen.')
    hub.setFreezes([app, all])
    expect(freezes.failure).toBeUndefined()
  })

  it('counts as lifted if another person was faster', async () => {
    hub.setFreezes([all])
    reply(404, { title: 'Not found', status: 404, code: 'not_found' })
    expect(await freezes.resume(1)).toBe(true)
    expect(hub.freezes).toEqual([])
  })

  it('takes the freezes of a list unless newer ones arrived', async () => {
    hub.setFreezes([all])
    const waiting = deferred<Response>()
    vi.stubGlobal('fetch', () => waiting.promise)
    const loading = freezes.load()
    hub.setFreezes([all, app])
    waiting.resolve(
      new Response(JSON.stringify({ freezes: [], stopped: 4, finishing: 0, uncontrolled: 0, unchecked: 0 })),
    )
    await loading
    expect(hub.freezes).toEqual([all, app])
    reply(200, { freezes: [], stopped: 0, finishing: 0, uncontrolled: 0, unchecked: 0 })
    await freezes.load()
    expect(hub.freezes).toEqual([])
  })
})

it('countsText leaves out what is zero', () => {
  expect(countsText({ stopped: 4, finishing: 2, uncontrolled: 1, unchecked: 3 })).toBe(
    '4 stopped · 2 finishing a call · 1 not controllable (observe mode) · 3 calls ran unchecked (the hub could not be reached)',
  )
  expect(countsText({ stopped: 0, finishing: 2, uncontrolled: 0, unchecked: 0 })).toBe('2 finishing a call')
  expect(countsText({ stopped: 0, finishing: 0, uncontrolled: 0, unchecked: 0 })).toBe(
    'No agent has tried a call since.',
  )
})

it('frozenText names what is frozen and by whom', () => {
  expect(frozenText([session, all])).toBe('All agents are frozen by Ada')
  expect(frozenText([all, app])).toBe('All agents are frozen by Ada')
  expect(frozenText([app, { ...app, id: 6, source_app: 'web', by: 'Cy' }])).toBe(
    'All agents of api, all agents of web are frozen by Bo, Cy',
  )
  expect(frozenText([app])).toBe('All agents of api are frozen by Bo')
  expect(frozenText([session])).toBe('1 session of api is frozen')
  expect(frozenText([session, { ...session, id: 4, session_id: 's2' }])).toBe('2 sessions of api are frozen')
  expect(frozenText([app, session, { ...session, id: 5, source_app: 'web' }])).toBe(
    'All agents of api, 1 session of web are frozen',
  )
})
