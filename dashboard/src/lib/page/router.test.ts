import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { eventInHash, parsePath, redirect, router, sessionPath } from './router.svelte'

describe('parsePath', () => {
  test.each([
    ['/', { screen: 'inbox' }],
    ['/inbox', { screen: 'inbox' }],
    ['/inbox/', { screen: 'inbox' }],
    ['/inbox/12', { screen: 'inbox', id: 12 }],
    ['/shared', { screen: 'shared' }],
    ['/r/12', { screen: 'review', id: 12 }],
    ['/r/12/', { screen: 'review', id: 12 }],
    ['/stream', { screen: 'stream' }],
    ['/sessions', { screen: 'sessions' }],
    ['/sessions/', { screen: 'sessions' }],
    ['/sessions/api/s1', { screen: 'session', app: 'api', session: 's1' }],
    ['/sessions/a%2Fb/..%2F..%3F%23', { screen: 'session', app: 'a/b', session: '../..?#' }],
    ['/overview', { screen: 'overview' }],
    ['/team/people', { screen: 'team', tab: 'people' }],
    ['/team/audit/', { screen: 'team', tab: 'audit' }],
    ['/settings/agents', { screen: 'settings', tab: 'agents' }],
    ['/settings/hub/', { screen: 'settings', tab: 'hub' }],
    ['/hitl/12/vote', { screen: 'vote', id: 12 }],
  ])('%s', (path, place) => expect(parsePath(path)).toEqual(place))

  test.each([
    '/r',
    '/hitl/x/vote',
    '/hitl/1',
    '/r/x',
    '/r/1/2',
    '/inbox/99999999999999999',
    '/sessions/api',
    '/sessions/a/b/c',
    '/sessions/%zz/s1',
    '/sessions/a/%ff',
    '/Stream',
    '/constructor',
    '//',
    '/overview/x',
    '/team/x',
    '/team/people/x',
    '/settings/tokens',
  ])('%s is not found', (path) => expect(parsePath(path)).toEqual({ screen: 'notFound' }))
})

test.each([
  ['/settings', '/settings/agents'],
  ['/settings/', '/settings/agents'],
  ['/settings/?x=1', '/settings/agents?x=1'],
  ['/settings?address=https%3A%2F%2Fa#hub', '/settings/hub?address=https%3A%2F%2Fa#hub'],
  ['/team', '/team/people'],
  ['/team#sign-in=abc', '/team/people#sign-in=abc'],
  ['/team/tokens', '/team/tokens'],
  ['/constructor', '/constructor'],
])('redirects %s to %s', (from, to) => {
  const { pathname, search, hash } = redirect(new URL(from, 'http://127.0.0.1:4000'))
  expect(pathname + search + hash).toBe(to)
})

test('paths round-trip every agent and session name', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1 }),
    fc.constantFrom('.', '..', '~.', '~~..', '%2e', '%', '/', 'a/b', '#1', '?x', 'x.js', '~x'),
  )
  fc.assert(
    fc.property(name, name, (app, session) => {
      const url = new URL(sessionPath(app, session, 7), 'http://127.0.0.1:4000/stream')
      expect(parsePath(url.pathname)).toEqual({ screen: 'session', app, session })
      expect(eventInHash(url.hash)).toBe(7)
    }),
  )
})

test.each([
  ['#123', 123],
  ['', undefined],
  ['#', undefined],
  ['#main', undefined],
  ['#1e3', undefined],
  ['#1234567890123456', undefined],
])('eventInHash(%s) is %s', (hash, event) => expect(eventInHash(hash)).toBe(event))

describe('router', () => {
  afterEach(() => router.go('/', { replace: true }))

  test('navigates to a path with query and fragment', () => {
    router.go('/overview?days=7')
    expect(router.place).toEqual({ screen: 'overview' })
    expect(router.query.get('days')).toBe('7')
    router.go('/sessions/api/s1#12')
    expect(router.place).toEqual({ screen: 'session', app: 'api', session: 's1' })
    expect(router.event).toBe(12)
    router.go('/sessions/api/s1')
    expect(router.event).toBeUndefined()
  })

  test('handles clicks on internal links, and leaves fragment links to the browser', () => {
    const stop = router.listen()
    const click = (href: string) => {
      const link = document.body.appendChild(document.createElement('a'))
      link.setAttribute('href', href)
      const e = new MouseEvent('click', { bubbles: true, cancelable: true })
      link.dispatchEvent(e)
      link.remove()
      return e.defaultPrevented
    }
    expect(click('/settings')).toBe(true)
    expect(router.place).toEqual({ screen: 'settings', tab: 'agents' })
    expect(location.pathname).toBe('/settings/agents')
    expect(click('#main')).toBe(false)
    history.replaceState(null, '', '#9')
    window.dispatchEvent(new Event('hashchange'))
    expect(router.event).toBe(9)
    stop()
    expect(click('/stream')).toBe(false)
  })
})

test('shows the place immediately and the address a moment later', () => {
  vi.useFakeTimers()
  router.go('/inbox/1')
  const entries = history.length
  router.replaceSoon('/inbox/2')
  router.replaceSoon('/inbox/3?kind=choice')
  expect(router.place).toEqual({ screen: 'inbox', id: 3 })
  expect(router.query.get('kind')).toBe('choice')
  expect(location.pathname).toBe('/inbox/1')
  vi.advanceTimersByTime(1000)
  expect(location.pathname + location.search).toBe('/inbox/3?kind=choice')
  router.replaceSoon('/inbox/4')
  router.set({ risk: 'high' })
  expect(location.pathname + location.search).toBe('/inbox/4?risk=high')
  expect(history.length).toBe(entries)
})
