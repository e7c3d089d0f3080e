// API calls for the hub's public address, and for pairing devices.
import { linkReachText } from '../ui/lazyText'
import { call, post, put } from './api'
import type { Confirmation, PairingCode, Reach, SignInResult } from './schema'

export const readReach = () => call<Reach>('/api/reach')

/** Saves the address if this hub answers there. An empty one removes the setting. */
export const setReach = (publicUrl: string) => put<Reach>('/api/reach', { publicUrl })

/**
 * Replaces a copied link to a path by one that works on other devices, if there is one. Returns what to
 * add to the message that a link was copied.
 */
export async function copyPublicLink(path: string): Promise<string> {
  try {
    const { state, publicUrl } = await readReach()
    if (state === 'ok' && publicUrl !== location.origin) await navigator.clipboard.writeText(publicUrl + path)
    return state === 'local' ? ' ' + linkReachText.copied : ''
  } catch {
    return '' // an older hub, or a browser that copies on a key press only
  }
}

export const checkReach = () => post<Reach>('/api/reach/check', {})

/** Creates a code that signs in one further device of the user. */
export const createPairing = (confirmation: Confirmation) => post<PairingCode>('/api/pairing', confirmation)

export const redeemPairing = (code: string) => post<SignInResult>('/api/sign-in', { code, pair: true })
