import { beforeEach, describe, expect, it, vi } from 'vitest'
import { KEY_HEADER, saveKey, signInKey } from './signInKey'
import { hub } from '../stream/liveState.svelte'
import { signInCode, me, providerProblem } from './currentUser.svelte'
import { signInError } from '../format/errorText'
import { get, post, remove } from './api'
import type { Me } from './types'

const CODE = 'q1w2e3r4t5y6u7i8o9p0aa'
const anyone: Me = { name: 'local user', verified: false, locked: false, canAnswer: true, canAdmin: true }
const mara: Me = {
  name: 'mara',
  role: 'admin',
  verified: true,
  owner: true,
  signIn: 's1',
  locked: false,
  canAnswer: true,
  canAdmin: true,
}
const refusal = (status: number, code: string, more = {}) => ({
  status,
  body: { type: 'about:blank', title: 'No', status, code, error: code, detail: code, ...more },
})

let answers: Record<string, unknown>
let calls: { path: string; init?: RequestInit }[]
let renewed: number
let named: string

vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
  calls.push({ path, init })
  const answer = answers[path]
  if (answer instanceof Error) throw answer
  const { status = 200, body = answer } = (answer ?? refusal(404, 'no_route')) as ReturnType<typeof refusal>
  return new globalThis.Response(JSON.stringify(body), { status })
})

let stop: () => void
function start(hash = '') {
  history.replaceState(null, '', '/inbox/3?kind=choice' + hash)
  stop = me.start(window)
}
const settled = () => vi.waitFor(() => expect(me.busy).toBe(false))
const asked = (path: string) => calls.filter((c) => c.path === path)
const inTab = (key: string) => window.dispatchEvent(new StorageEvent('storage', { key }))

beforeEach(() => {
  ;[answers, calls, renewed, named] = [{ '/api/me': anyone }, [], 0, '']
  saveKey('')
  Object.assign(me, {
    identity: undefined,
    sessionExpired: false,
    signInRequired: false,
    dialog: undefined,
    busy: false,
    claimed: false,
  })
  vi.spyOn(hub, 'restartStream').mockImplementation(() => void renewed++)
  vi.spyOn(hub, 'setUser').mockImplementation((name) => void (named = name))
  return () => stop?.()
})

describe('Sign-in link', () => {
  it('signs in, stores the key and removes the code from the URL', async () => {
    answers['/api/sign-in'] = { key: 'k1', me: mara }
    start(`#sign-in=${CODE}`)
    expect(location.href).toMatch(/\/inbox\/3\?kind=choice$/)
    await settled()
    expect(JSON.parse(String(asked('/api/sign-in')[0]?.init?.body))).toEqual({ code: CODE })
    expect([me.name, named, renewed, signInKey(), me.dialog]).toEqual(['mara', 'mara', 1, 'k1', undefined])
  })

  it('asks the first user for a name, shows the hub’s error, then offers to lock the hub', async () => {
    answers['/api/sign-in'] = refusal(400, 'invalid', { field: 'name', detail: 'name is missing' })
    start(`#sign-in=${CODE}`)
    await settled()
    expect(me.dialog).toEqual({ step: 'name', code: CODE, problem: undefined })
    await me.signIn(CODE, 'hub')
    expect(me.dialog).toMatchObject({ step: 'name', problem: { detail: 'name is missing' } })
    answers['/api/sign-in'] = { key: 'k1', me: mara }
    await me.signIn(CODE, 'mara')
    expect(JSON.parse(String(asked('/api/sign-in')[2]?.init?.body))).toEqual({ code: CODE, name: 'mara' })
    expect(me.dialog).toEqual({ step: 'welcome' })
  })

  it('claims the hub with the name in the link, without a dialog, and says that it is locked', async () => {
    const owner = { ...mara, owner: true, locked: true, owned: true }
    answers['/api/sign-in'] = { key: 'k1', me: owner }
    start(`#sign-in=${CODE}&name=mara%20k`)
    expect(location.href).toMatch(/\/inbox\/3\?kind=choice$/)
    await settled()
    expect(JSON.parse(String(asked('/api/sign-in')[0]?.init?.body))).toEqual({ code: CODE, name: 'mara k' })
    expect([me.dialog, me.claimed, me.hasNotices]).toEqual([undefined, true, true])
  })

  it('asks for a name if the hub rejects the one in the link, or if it is invalid', async () => {
    answers['/api/sign-in'] = refusal(400, 'invalid', { field: 'name', detail: 'name is reserved' })
    start(`#sign-in=${CODE}&name=hub`)
    await settled()
    expect(me.dialog).toMatchObject({ step: 'name', code: CODE, problem: { detail: 'name is reserved' } })
    history.replaceState(null, '', `/#sign-in=${CODE}&name=%E0%A4%A`)
    window.dispatchEvent(new HashChangeEvent('hashchange'))
    await settled()
    expect(me.dialog).toMatchObject({ step: 'name', problem: undefined })
    expect(me.claimed).toBe(false)
  })

  it('reports a failure without changing the page', async () => {
    answers['/api/sign-in'] = refusal(401, 'sign_in', { detail: 'this link has expired' })
    start(`#sign-in=${CODE}`)
    await settled()
    expect(me.dialog).toMatchObject({ step: 'failed', problem: { code: 'sign_in' } })
    await vi.waitFor(() => expect(me.identity).toEqual(anyone))
    expect([me.isVerified, me.sessionExpired, me.signInRequired]).toEqual([false, false, false])
  })

  it.each([
    [`http://localhost:4000/#sign-in=${CODE}`, CODE],
    [` ${CODE}\n`, CODE],
    [`#sign-in=${CODE}`, CODE],
    ['http://localhost:4000/', ''],
    ['#sign-in=', ''],
    ['', ''],
  ])('has a code in %j', (text, code) => expect(signInCode(text)).toBe(code))
})

describe('Browser sign-in', () => {
  it('sends the key with writes, and the cookie with reads', async () => {
    saveKey('k1')
    answers['/events/5/respond'] = { id: 5 }
    await post('/events/:id/respond', { id: 5 }, { permission: true })
    expect(calls[0]?.init?.headers).toEqual({ 'Content-Type': 'application/json', [KEY_HEADER]: 'k1' })
    answers['/events/5'] = { id: 5 }
    await get('/events/:id', { id: 5 })
    expect(calls[1]?.init).toBeUndefined()
    await get('/api/me')
    expect(calls[2]?.init?.headers).toEqual({ [KEY_HEADER]: 'k1' })
  })

  it('ends if the hub rejects it, and allows access without it', async () => {
    saveKey('k1')
    answers = { '/api/me': mara }
    start()
    await vi.waitFor(() => expect(me.isVerified).toBe(true))
    answers = { '/api/me': refusal(401, 'sign_in'), '/events/5/respond': refusal(401, 'sign_in') }
    await expect(post('/events/:id/respond', { id: 5 }, { permission: true })).rejects.toThrow('sign_in')
    await vi.waitFor(() => expect(me.sessionExpired).toBe(true))
    expect([me.isVerified, me.signInRequired, me.identity?.canAnswer, named]).toEqual([
      false,
      false,
      false,
      '',
    ])
    answers = { '/api/me': anyone, '/api/sign-out': refusal(401, 'sign_in') }
    expect(await me.signOut()).toBeUndefined()
    expect([me.sessionExpired, me.identity, signInKey()]).toEqual([false, anyone, ''])
  })

  it('is incomplete without its key or its cookie', async () => {
    saveKey('k1')
    start()
    await vi.waitFor(() => expect(me.sessionExpired).toBe(true))
    stop()
    saveKey('')
    answers['/api/me'] = mara
    start()
    await vi.waitFor(() => expect(me.identity?.role).toBe('admin'))
    expect([me.sessionExpired, me.isVerified, me.identity?.canAnswer]).toEqual([true, false, false])
  })

  it('is required if the hub allows no unauthenticated reads', async () => {
    answers['/events/recent?limit=1&summary=1'] = answers['/events/7'] = refusal(401, 'sign_in')
    start()
    await expect(get('/events/:id', { id: 7 })).rejects.toThrow('sign_in')
    await vi.waitFor(() => expect(me.signInRequired).toBe(true))
    expect(me.sessionExpired).toBe(false)
    answers['/api/sign-in'] = { key: 'k1', me: mara }
    await me.signIn(CODE)
    expect(me.signInRequired).toBe(false)
  })

  it('is dropped if stale and reads are public', async () => {
    answers['/events/recent?limit=1&summary=1'] = []
    answers['/events/7'] = refusal(401, 'sign_in')
    start()
    await expect(get('/events/:id', { id: 7 })).rejects.toThrow('sign_in')
    await vi.waitFor(() => expect(asked('/events/recent?limit=1&summary=1')).toHaveLength(1))
    expect(me.signInRequired).toBe(false)
  })

  it('ends if the stream closes with 4401', async () => {
    saveKey('k1')
    answers['/api/me'] = mara
    start()
    await vi.waitFor(() => expect(me.isVerified).toBe(true))
    answers['/api/me'] = refusal(401, 'sign_in')
    hub.signedOut()
    await vi.waitFor(() => expect(me.sessionExpired).toBe(true))
  })

  it('is required if the stream does not open and the hub refuses to be read', async () => {
    start()
    await vi.waitFor(() => expect(me.identity).toEqual(anyone))
    hub.notOpened()
    await vi.waitFor(() => expect(asked('/events/recent?limit=1&summary=1')).toHaveLength(1))
    expect(me.signInRequired).toBe(false)
    answers['/events/recent?limit=1&summary=1'] = refusal(401, 'sign_in')
    await vi.waitFor(() => {
      hub.notOpened()
      expect(me.signInRequired).toBe(true)
    })
  })

  it('ignores an answer about the time before a sign-in', async () => {
    const late = me.refresh()
    saveKey('k1') // as signIn does
    me.identity = mara
    await late
    expect([me.isVerified, me.sessionExpired]).toEqual([true, false])
  })

  it('is shared between tabs', async () => {
    start()
    await vi.waitFor(() => expect(me.identity).toEqual(anyone))
    me.openSignIn()
    saveKey('k1')
    answers['/api/me'] = mara
    inTab('hookback.key')
    await vi.waitFor(() => expect(me.name).toBe('mara'))
    expect(me.dialog).toBeUndefined()
    saveKey('')
    answers['/api/me'] = anyone
    inTab('hookback.key')
    await vi.waitFor(() => expect(me.name).toBe(''))
    const before = calls.length
    inTab('hookback.settings')
    expect(calls.length).toBe(before)
  })
})

it('locks the hub, or reports why that failed', async () => {
  answers['/api/me'] = { ...mara, locked: true }
  answers['/api/lock'] = {}
  expect(await me.lock(true)).toBeUndefined()
  expect(me.identity?.locked).toBe(true)
  answers['/api/lock'] = refusal(403, 'not_allowed')
  expect(await me.lock(false)).toMatchObject({ code: 'not_allowed' })
})

it('has no user if the hub is offline or has no users', async () => {
  answers['/api/me'] = new Error('gone')
  start()
  await vi.waitFor(() => expect(calls.length).toBeGreaterThan(0))
  delete answers['/api/me']
  await me.refresh()
  expect([me.identity, me.signInRequired, me.sessionExpired]).toEqual([undefined, false, false])
})

it('lists sign-ins, tokens and users by GET, and deletes them by DELETE', async () => {
  Object.assign(answers, { '/api/sign-ins': [], '/api/tokens': [], '/api/people': [] })
  Object.assign(answers, { '/api/sign-ins/s1': [], '/api/tokens/t1': [], '/api/people/A%20b': [] })
  await Promise.all([get('/api/sign-ins'), get('/api/tokens'), get('/api/people')])
  await Promise.all([
    remove('/api/sign-ins/:id', { id: 's1' }),
    remove('/api/tokens/:id', { id: 't1' }),
    remove('/api/people/:name', { name: 'A b' }),
  ])
  const how = ({ init }: (typeof calls)[number]) => [init?.method, init?.headers]
  const removing = ['DELETE', { 'Content-Type': 'application/json' }]
  expect(calls.map(how)).toEqual([...Array(3).fill([undefined, undefined]), ...Array(3).fill(removing)])
})

describe('providerProblem', () => {
  it('describes the error in its own words, never with text from the URL', () => {
    expect(signInError(providerProblem('refused')).text).toContain('refused the sign-in')
    expect(signInError(providerProblem('provider-down')).text).toContain('can’t reach the provider')
    expect(signInError(providerProblem('pay-me')).text).not.toContain('pay')
  })
})

describe('Failed provider sign-in', () => {
  it('removes the reason from the URL and shows it', () => {
    history.replaceState(null, '', '/#sign-in-failed=lost')
    const stop = me.start(window)
    expect(location.hash).toBe('')
    expect(me.dialog).toMatchObject({ step: 'failed', problem: { code: 'provider' } })
    stop()
    me.close()
  })
})
