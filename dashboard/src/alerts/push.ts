// Web Push: this browser is told of requests while no page is open. The hub's own key
// goes into the subscription, so that nobody else can send by it.

import { unsubscribeBrowser, pushKey, subscribeBrowser } from '../api'

/** What the switch of the settings shows. */
export type PushState = 'on' | 'off' | 'blocked' | 'unable'

const worker = '/sw.js'

/** What the policy of the page lets be started: this one script. */
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
      if (url !== worker) throw new TypeError('not a worker of this page')
      return url
    },
  })
  return trusted.createScriptURL(worker)
}

let trusted: { createScriptURL(url: string): string } | undefined // a name can be made once

export const canPush = (): boolean =>
  'serviceWorker' in navigator && 'PushManager' in window && 'Notification' in window

/** How it is now; it asks the person nothing. */
export async function pushState(): Promise<PushState> {
  if (!canPush()) return 'unable'
  if (Notification.permission === 'denied') return 'blocked'
  const registration = await navigator.serviceWorker.getRegistration('/')
  return (await registration?.pushManager.getSubscription()) ? 'on' : 'off'
}

/** Asks the person, the browser and the hub, in this order. To be called from a click. */
export async function enablePush(): Promise<PushState> {
  if (!canPush()) return 'unable'
  const permission = await Notification.requestPermission()
  if (permission === 'denied') return 'blocked'
  if (permission !== 'granted') return 'off'
  await navigator.serviceWorker.register(script(), { scope: '/' })
  const registration = await navigator.serviceWorker.ready
  const { key } = await pushKey()
  const subscription = await subscribe(registration.pushManager, bytes(key))
  await subscribeBrowser(subscription.toJSON())
  return 'on'
}

/** Takes the subscription back, at the hub first: so nothing is sent to nobody. */
export async function disablePush(): Promise<PushState> {
  const registration = await navigator.serviceWorker.getRegistration('/')
  const subscription = await registration?.pushManager.getSubscription()
  if (subscription) {
    await unsubscribeBrowser(subscription.endpoint)
    await subscription.unsubscribe()
  }
  return pushState()
}

/** Subscribes; a subscription with another hub's key is taken back first. */
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
