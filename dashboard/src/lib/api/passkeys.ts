import { ApiError, post } from './api'
import { me } from './currentUser.svelte'
import type { Confirmation, CredentialAction, JsonObject, PasskeyOptions } from './schema'
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
): Promise<JsonObject> {
  if (typeof PublicKeyCredential === 'undefined' || !('parseRequestOptionsFromJSON' in PublicKeyCredential))
    throw new ApiError(passkeyProblem('proof_required', what, copy.unsupported))
  try {
    const made = await ask()
    if (made instanceof PublicKeyCredential) return { ...made.toJSON() } as object as JsonObject
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
export async function signAnswer(id: number, answer: Response): Promise<JsonObject> {
  const { publicKey } = await post('/api/passkeys/challenge', { id, response: answer })
  return getAssertion(publicKey, copy.retry)
}

/**
 * Signs exactly this change of credentials with a passkey of the person. Empty if the hub uses no
 * passkeys or the person has none: the hub then decides without a proof.
 */
export async function confirmAction(action: CredentialAction['do'], target: string): Promise<Confirmation> {
  if (!me.identity?.passkeys) return {}
  const { publicKey } = await post('/api/passkeys/confirm', { do: action, target })
  return { proof: await getAssertion(publicKey, copy.notChanged) }
}

/** Creates a passkey on this device and registers it. A further one is confirmed with an existing one. */
export async function add(name: string): Promise<void> {
  const { publicKey } = await post('/api/passkeys/new', await confirmAction('add_passkey', me.name))
  const credential = await requestCredential(
    () =>
      navigator.credentials.create({
        publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey as never),
      }),
    copy.notCreated,
    copy.notCreatedHint,
  )
  await post('/api/passkeys', { name, credential })
}
