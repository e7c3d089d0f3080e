import { afterEach, expect, it, vi } from 'vitest'
import { ApiError, call } from './api'

afterEach(() => vi.unstubAllGlobals())

it('reports a connection that ends within a body as a hub that can’t be reached', async () => {
  const cut = new ReadableStream({ start: (stream) => stream.error(new TypeError('Failed to fetch')) })
  vi.stubGlobal('fetch', () => Promise.resolve(new Response(cut)))
  await expect(call('/api/me')).rejects.toBeInstanceOf(ApiError)
})

it('does not hide a body that is not JSON', async () => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('<html>')))
  await expect(call('/api/me')).rejects.toBeInstanceOf(SyntaxError)
})
