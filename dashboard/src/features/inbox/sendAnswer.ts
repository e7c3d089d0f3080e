import { hub } from '../../lib/stream/liveState.svelte'
import { me } from '../../lib/api/currentUser.svelte'
import { settings } from '../../lib/page/settings.svelte'
import type { Response } from '../../lib/api/types'
import { needsPasskey } from '../../lib/format/permissions'
import { isHarmless, type Request } from '../../lib/stream/requests'

/** The answer with its undo window. Only an approval has one, if the call may change something. */
function withUndo(request: Request | undefined, what: Response): Response {
  const harmless = request && isHarmless(request) && what.modifiedArguments === undefined
  return what.permission === true && !harmless && settings.undo > 0
    ? { ...what, holdMs: settings.undo * 1000 }
    : what
}

type Send = () => Promise<boolean>

/**
 * Answers a request and returns whether the hub accepted it. An answer that needs a passkey
 * is signed first, while the request is still on screen. wrap runs around the send.
 */
export async function sendAnswer(
  id: number,
  what: Response,
  wrap: (send: Send) => Promise<boolean> = (send) => send(),
): Promise<boolean> {
  const request = hub.request(id)
  const answer = withUndo(request, what)
  const proved = async () => {
    const { signAnswer: prove } = await import('../../lib/api/passkeys')
    const signed = await hub.withProof(id, answer, () => prove(id, answer))
    return signed !== undefined && wrap(() => hub.answer(id, signed))
  }
  if (request && needsPasskey(request, me.identity, answer)) return proved()
  if (await wrap(() => hub.answer(id, answer))) return true
  // An edit can raise the risk; the hub then demands a passkey.
  const wanted = hub.request(id)?.problem?.code === 'proof_required' && (me.identity?.passkeys ?? 0) > 0
  return wanted && proved()
}
