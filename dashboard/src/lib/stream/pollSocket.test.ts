import { afterEach, expect, it, vi } from 'vitest'
import { PollSocket, SIGNED_OUT } from './pollSocket'

afterEach(() => vi.unstubAllGlobals())

it.each([
  ['refused credentials as the end of the sign-in', 401, SIGNED_OUT],
  ['a hub that stops as a broken connection', 503, 1006],
])('PollSocket reports %s', async (_, status, code) => {
  vi.stubGlobal('fetch', () => Promise.resolve(new Response('', { status })))
  const socket = new PollSocket(() => '/stream?v=2&poll=start')
  const closed = await new Promise<CloseEvent>((resolve) => (socket.onclose = resolve))
  expect(closed.code).toBe(code)
})
