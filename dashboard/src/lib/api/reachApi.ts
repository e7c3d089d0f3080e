// API calls for the hub's public address, and for pairing devices.
import { call, post } from './api'
import type { Confirmation, PairingCode, Reach, SignInResult } from './schema'

export const readReach = () => call<Reach>('/api/reach')

/** Saves the address if this hub answers there. An empty one removes the setting. */
export const setReach = (publicUrl: string) =>
  call<Reach>('/api/reach', {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ publicUrl }),
  })

export const checkReach = () => post<Reach>('/api/reach/check', {})

/** Creates a code that signs in one further device of the user. */
export const createPairing = (confirmation: Confirmation) => post<PairingCode>('/api/pairing', confirmation)

export const redeemPairing = (code: string) => post<SignInResult>('/api/sign-in', { code, pair: true })
