// Web Push: notifies this browser of requests while no tab is open. The subscription
// contains the hub's public key, so only this hub can send messages to it.

import { get, post, remove } from '../../lib/api/api'
import type { PushSubscription as Subscription } from '../../lib/api/schema'

/** The state of the push subscription of this browser. */
export type PushState = 'on' | 'off' | 'blocked' | 'unable'

const worker = '/sw.js'

/** The Trusted Types API. The policy below allows one script URL. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): string }
}

function script(): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes
  if (!types) return worker
  trusted ??= types.createPolicy('hookback-worker', {
    createScriptURL: (url) => {
      if (url !== worker) throw new TypeError('unexpected service worker URL')
      return url
    },
  })
  return trusted.createScriptURL(worker)
}

let trusted: { createScriptURL(url: string): string } | undefined // a policy name can be registered only once

export const canPush = (): boolean =>
  'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

/** Returns the current state without prompting the user. */
export async function pushState(): Promise<PushState> {
  if (!canPush()) return 'unable'
  if (Notification.permission === 'denied') return 'blocked'
  const registration = await navigator.serviceWorker.getRegistration('/')
  return (await registration?.pushManager.getSubscription()) ? 'on' : 'off'
}

/** Asks the user for permission, subscribes, and registers with the hub. Must be called from a click. */
export async function enablePush(): Promise<PushState> {
  if (!canPush()) return 'unable'
  const permission = await Notification.requestPermission()
  if (permission === 'denied') return 'blocked'
  if (permission !== 'granted') return 'off'
  await navigator.serviceWorker.register(script(), { scope: '/' })
  const registration = await navigator.serviceWorker.ready
  const { key } = await get('/api/push/key')
  const subscription = await subscribe(registration.pushManager, bytes(key))
  await post('/api/push', subscription.toJSON() as Subscription)
  return 'on'
}

/** Removes the subscription, from the hub first, so the hub does not send to a dead one. */
export async function disablePush(): Promise<PushState> {
  const registration = await navigator.serviceWorker.getRegistration('/')
  const subscription = await registration?.pushManager.getSubscription()
  if (subscription) {
    await remove('/api/push', { endpoint: subscription.endpoint } as Subscription)
    await subscription.unsubscribe()
  }
  return pushState()
}

/** Subscribes. A subscription with another hub's key is removed first. */
async function subscribe(manager: PushManager, key: Uint8Array<ArrayBuffer>): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: key }
  const old = await manager.getSubscription()
  if (old && !same(old.options.applicationServerKey, key)) await old.unsubscribe()
  return manager.subscribe(options)
}

const same = (a: ArrayBuffer | null, b: Uint8Array): boolean =>
  a !== null && a.byteLength === b.length && new Uint8Array(a).every((byte, i) => byte === b[i])

function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(text, (c) => c.charCodeAt(0))
}
