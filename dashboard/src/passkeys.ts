import * as api from './api'
import { ApiError } from './api'
import type { Problem, Response } from './types'
import { lazyAppText } from './lazyText'

const copy = lazyAppText.passkeys

const passkeyProblem = (code: string, detail: string, hint: string): Problem => ({
  type: 'about:blank',
  title: copy.title,
  status: 0,
  code,
  detail,
  error: detail,
  hint,
})

/** Runs a passkey request and returns the credential as JSON. Throws an ApiError on failure. */
async function requestCredential(
  ask: () => Promise<Credential | null>,
  what: string,
  hint: string,
): Promise<Record<string, unknown>> {
  if (typeof PublicKeyCredential === 'undefined' || !('parseRequestOptionsFromJSON' in PublicKeyCredential))
    throw new ApiError(passkeyProblem('proof_required', what, copy.unsupported))
  try {
    const made = await ask()
    if (made instanceof PublicKeyCredential) return { ...made.toJSON() }
  } catch (error) {
    if (!(error instanceof DOMException)) throw error
    throw new ApiError(
      passkeyProblem('proof_required', `${what} ${copy.errors[error.name] ?? error.message}`, hint),
    )
  }
  throw new ApiError(passkeyProblem('proof_required', what, hint))
}

/** Signs exactly this answer with a passkey of the person. */
export async function signAnswer(id: number, answer: Response): Promise<Record<string, unknown>> {
  const { publicKey } = await api.challenge(id, answer)
  return requestCredential(
    () =>
      navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey as never),
      }),
    copy.notUsed,
    copy.retry,
  )
}

/** Creates a passkey on this device and registers it. */
export async function add(name: string): Promise<void> {
  const { publicKey } = await api.newPasskey()
  const credential = await requestCredential(
    () =>
      navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never),
      }),
    copy.notCreated,
    copy.notCreatedHint,
  )
  await api.addPasskey(name, credential)
}
