import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { canPush, pushState, enablePush, disablePush } from './push'

const key = 'AQID' // the bytes 1, 2, 3

function browser(permission: NotificationPermission, subscribedWith?: number[]) {
  let subscription: unknown = null
  const calls: string[] = []
  const createSubscription = (bytes: number[]) => ({
    endpoint: 'https://push.example.com/1',
    options: { applicationServerKey: new Uint8Array(bytes).buffer },
    toJSON: () => ({ endpoint: 'https://push.example.com/1', keys: { p256dh: 'p', auth: 'a' } }),
    unsubscribe: async () => {
      calls.push('unsubscribe')
      subscription = null
      return true
    },
  })
  if (subscribedWith) subscription = createSubscription(subscribedWith)
  const registration = {
    pushManager: {
      getSubscription: async () => subscription,
      subscribe: async (options: PushSubscriptionOptionsInit) => {
        calls.push(`subscribe ${[...(options.applicationServerKey as Uint8Array)].join()}`)
        expect(options.userVisibleOnly).toBe(true)
        return (subscription = createSubscription([1, 2, 3]))
      },
    },
  }
  vi.stubGlobal('navigator', {
    serviceWorker: {
      getRegistration: async () => registration,
      register: async (script: string) => calls.push(`register ${script}`),
      ready: Promise.resolve(registration),
    },
  })
  vi.stubGlobal('PushManager', Object)
  vi.stubGlobal('Notification', { permission, requestPermission: async () => permission })
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    calls.push(`${init?.method ?? 'GET'} ${path} ${init?.body ?? ''}`.trim())
    return new Response(JSON.stringify(path === '/api/push/key' ? { key } : {}))
  })
  return calls
}

beforeEach(() => vi.stubGlobal('window', globalThis))
afterEach(() => vi.unstubAllGlobals())

describe('Web Push', () => {
  it('asks the user, the browser and the hub, in this order', async () => {
    const calls = browser('granted')
    expect(await pushState()).toBe('off')
    expect(await enablePush()).toBe('on')
    expect(calls).toEqual([
      'register /sw.js',
      'GET /api/push/key',
      'subscribe 1,2,3',
      'POST /api/push {"endpoint":"https://push.example.com/1","keys":{"p256dh":"p","auth":"a"}}',
    ])
    expect(await pushState()).toBe('on')
  })

  it('replaces a subscription with the key of another hub', async () => {
    const calls = browser('granted', [9, 9, 9])
    await enablePush()
    expect(calls.slice(2, 4)).toEqual(['unsubscribe', 'subscribe 1,2,3'])
    const same = browser('granted', [1, 2, 3])
    await enablePush()
    expect(same).not.toContain('unsubscribe')
  })

  it('registers only its own worker under Trusted Types', async () => {
    const calls = browser('granted')
    const made: string[] = []
    vi.stubGlobal('trustedTypes', {
      createPolicy: (name: string, rules: { createScriptURL(url: string): string }) => {
        made.push(name)
        expect(() => rules.createScriptURL('https://evil.example/sw.js')).toThrow()
        return { createScriptURL: (url: string) => `trusted ${rules.createScriptURL(url)}` }
      },
    })
    await enablePush()
    await enablePush()
    expect([made, calls[0]]).toEqual([['hookback-worker'], 'register trusted /sw.js'])
  })

  it('unregisters at the hub first', async () => {
    const calls = browser('granted', [1, 2, 3])
    expect(await disablePush()).toBe('off')
    expect(calls).toEqual(['DELETE /api/push {"endpoint":"https://push.example.com/1"}', 'unsubscribe'])
  })

  it('sends nothing if the user denies or the browser does not support it', async () => {
    const calls = browser('denied')
    expect([await pushState(), await enablePush()]).toEqual(['blocked', 'blocked'])
    const later = browser('default')
    expect(await enablePush()).toBe('off')
    expect([...calls, ...later]).toEqual([])
    vi.stubGlobal('navigator', {})
    expect([canPush(), await pushState(), await enablePush()]).toEqual([false, 'unable', 'unable'])
  })
})
