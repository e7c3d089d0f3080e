import * as api from './api'
import { ApiError } from './api'
import type { Problem, Response } from './types'

/** What a browser says when somebody lets its question be, or can't answer it. */
const browserErrors: Record<string, string> = {
  NotAllowedError: 'It was cancelled, took too long, or the device could not check who you are.',
  InvalidStateError: 'This device has a passkey of yours already.',
  SecurityError: 'This page has an address that passkeys don’t work at.',
}

const passkeyProblem = (code: string, detail: string, hint: string): Problem => ({
  type: 'about:blank',
  title: 'No passkey',
  status: 0,
  code,
  detail,
  error: detail,
  hint,
})

const RETRY = 'Nothing was sent; what you wrote is kept. Approve once more to try again.'

/** The passkey's JSON; fails with an ApiError that says why there is none. */
async function requestCredential(
  ask: () => Promise<Credential | null>,
  what: string,
  hint: string,
): Promise<Record<string, unknown>> {
  if (typeof PublicKeyCredential === 'undefined' || !('parseRequestOptionsFromJSON' in PublicKeyCredential))
    throw new ApiError(
      passkeyProblem('proof_required', what, 'This browser knows no passkeys, or is too old for them.'),
    )
  try {
    const made = await ask()
    if (made instanceof PublicKeyCredential) return { ...made.toJSON() }
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    throw new ApiError(passkeyProblem('proof_required', `${what} ${browserErrors[error.name] ?? error.message}`, hint))
  }
  throw new ApiError(passkeyProblem('proof_required', what, hint))
}

/** The proof that this person touched a passkey of theirs for exactly this answer. */
export async function signAnswer(id: number, answer: Response): Promise<Record<string, unknown>> {
  const { publicKey } = await api.challenge(id, answer)
  return requestCredential(
    () =>
      navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey as never),
      }),
    'Your passkey was not used.',
    RETRY,
  )
}

/** Makes a passkey on this device, and registers it. */
export async function add(name: string): Promise<void> {
  const { publicKey } = await api.newPasskey()
  const credential = await requestCredential(
    () =>
      navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never),
      }),
    'No passkey was made.',
    'Try again, or with another device.',
  )
  await api.addPasskey(name, credential)
}
