import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { canPush, pushState, enablePush, disablePush } from './push'

const key = 'AQID' // the bytes 1, 2, 3

function browser(permission: NotificationPermission, subscribedWith?: number[]) {
  let subscription: unknown = null
  const asked: string[] = []
  const make = (bytes: number[]) => ({
    endpoint: 'https://push.example.com/1',
    options: { applicationServerKey: new Uint8Array(bytes).buffer },
    toJSON: () => ({ endpoint: 'https://push.example.com/1', keys: { p256dh: 'p', auth: 'a' } }),
    unsubscribe: async () => {
      asked.push('unsubscribe')
      subscription = null
      return true
    },
  })
  if (subscribedWith) subscription = make(subscribedWith)
  const registration = {
    pushManager: {
      getSubscription: async () => subscription,
      subscribe: async (options: PushSubscriptionOptionsInit) => {
        asked.push(`subscribe ${[...(options.applicationServerKey as Uint8Array)].join()}`)
        expect(options.userVisibleOnly).toBe(true)
        return (subscription = make([1, 2, 3]))
      },
    },
  }
  vi.stubGlobal('navigator', {
    serviceWorker: {
      getRegistration: async () => registration,
      register: async (script: string) => asked.push(`register ${script}`),
      ready: Promise.resolve(registration),
    },
  })
  vi.stubGlobal('PushManager', Object)
  vi.stubGlobal('Notification', { permission, requestPermission: async () => permission })
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    asked.push(`${init?.method ?? 'GET'} ${path} ${init?.body ?? ''}`.trim())
    return new Response(JSON.stringify(path === '/api/push/key' ? { key } : {}))
  })
  return asked
}

beforeEach(() => vi.stubGlobal('window', globalThis))
afterEach(() => vi.unstubAllGlobals())

describe('Web Push', () => {
  it('asks the person, the browser and the hub, in this order', async () => {
    const asked = browser('granted')
    expect(await pushState()).toBe('off')
    expect(await enablePush()).toBe('on')
    expect(asked).toEqual([
      'register /sw.js',
      'GET /api/push/key',
      'subscribe 1,2,3',
      'POST /api/push {"endpoint":"https://push.example.com/1","keys":{"p256dh":"p","auth":"a"}}',
    ])
    expect(await pushState()).toBe('on')
  })

  it('takes back a subscription with the key of another hub', async () => {
    const asked = browser('granted', [9, 9, 9])
    await enablePush()
    expect(asked.slice(2, 4)).toEqual(['unsubscribe', 'subscribe 1,2,3'])
    const same = browser('granted', [1, 2, 3])
    await enablePush()
    expect(same).not.toContain('unsubscribe')
  })

  it('starts its own worker and no other where the page may start none unasked', async () => {
    const asked = browser('granted')
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
    expect([made, asked[0]]).toEqual([['hookback-worker'], 'register trusted /sw.js'])
  })

  it('tells the hub first when it ends', async () => {
    const asked = browser('granted', [1, 2, 3])
    expect(await disablePush()).toBe('off')
    expect(asked).toEqual(['DELETE /api/push {"endpoint":"https://push.example.com/1"}', 'unsubscribe'])
  })

  it('asks nobody where the person said no, or the browser can not', async () => {
    const asked = browser('denied')
    expect([await pushState(), await enablePush()]).toEqual(['blocked', 'blocked'])
    const later = browser('default')
    expect(await enablePush()).toBe('off')
    expect([...asked, ...later]).toEqual([])
    vi.stubGlobal('navigator', {})
    expect([canPush(), await pushState(), await enablePush()]).toEqual([false, 'unable', 'unable'])
  })
})
