import { afterEach, expect, it, vi } from 'vitest'
import { ApiError, get, pathOf, remove } from './api'

afterEach(() => vi.unstubAllGlobals())

it('reports a connection that ends within a body as a hub that can’t be reached', async () => {
  const cut = new ReadableStream({ start: (stream) => stream.error(new TypeError('Failed to fetch')) })
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(cut)))
  await expect(get('/api/me')).rejects.toBeInstanceOf(ApiError)
})

it('does not hide a body that is not JSON', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>')))
  await expect(get('/api/me')).rejects.toBeInstanceOf(SyntaxError)
})

it('takes a signal after the params only', async () => {
  const fetched = vi.fn(() => Promise.resolve(new Response('[]')))
  vi.stubGlobal('fetch', fetched)
  const { signal } = new AbortController()
  await get('/api/me', undefined, signal)
  await get('/api/people', undefined, signal)
  expect(fetched.mock.calls).toEqual([
    ['/api/me', { signal }],
    ['/api/people', { signal }],
  ])
  // @ts-expect-error: it would be sent as the params
  await get('/api/people', signal)
})

it('encodes every value of a path, and half an emoji', async () => {
  const fetched = vi.fn(() => Promise.resolve(new Response('[]')))
  vi.stubGlobal('fetch', fetched)
  await remove('/api/people/:name', { name: 'a/../b?c#d :id \ud83d' })
  expect(fetched).toHaveBeenCalledWith(
    '/api/people/a%2F..%2Fb%3Fc%23d%20%3Aid%20%EF%BF%BD',
    expect.anything(),
  )
})

it('puts the other values into the query, and leaves out those that are undefined', () => {
  const session = { source_app: 'a&b=\ud83d', session_id: ':id', format: undefined }
  expect(pathOf('/api/session/export', session)).toBe(
    '/api/session/export?source_app=a%26b%3D%EF%BF%BD&session_id=%3Aid',
  )
  expect(pathOf('/hitl/requests', { agent: ['a', 'b'], limit: 1 })).toBe(
    '/hitl/requests?agent=a&agent=b&limit=1',
  )
})
