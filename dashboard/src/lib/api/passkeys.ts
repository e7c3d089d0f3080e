import * as api from './api'
import { ApiError } from './api'
import { me } from './currentUser.svelte'
import type { Confirmation, CredentialAction, PasskeyOptions } from './schema'
import type { Problem, Response } from './types'
import { passkeyErrors } from './lazyText'

const copy = passkeyErrors

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

/** Asks the person to use a passkey. hint: the next step if they don't. */
const getAssertion = (publicKey: PasskeyOptions['publicKey'], hint: string) =>
  requestCredential(
    () =>
      navigator.credentials.get({
        publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey as never),
      }),
    copy.notUsed,
    hint,
  )

/** Signs exactly this answer with a passkey of the person. */
export async function signAnswer(id: number, answer: Response): Promise<Record<string, unknown>> {
  const { publicKey } = await api.challenge(id, answer)
  return getAssertion(publicKey, copy.retry)
}

/**
 * Signs exactly this change of credentials with a passkey of the person. Empty if the hub uses no
 * passkeys or the person has none: the hub then decides without a proof.
 */
export async function confirmAction(action: CredentialAction['do'], target: string): Promise<Confirmation> {
  if (!me.identity?.passkeys) return {}
  const { publicKey } = await api.confirmOptions({ do: action, target })
  return { proof: await getAssertion(publicKey, copy.notChanged) }
}

/** Creates a passkey on this device and registers it. A further one is confirmed with an existing one. */
export async function add(name: string): Promise<void> {
  const { publicKey } = await api.newPasskey(await confirmAction('add_passkey', me.name))
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
