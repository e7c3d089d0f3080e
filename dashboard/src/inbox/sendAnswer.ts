import { hub } from '../liveState.svelte'
import { me } from '../currentUser.svelte'
import { settings } from '../settings.svelte'
import type { Response } from '../types'
import { needsPasskey } from './permissions'

/** The answer, held back by the hub as long as the person wants to be able to undo it. */
export const withUndo = (what: Response): Response =>
  settings.undo > 0 ? { ...what, holdMs: settings.undo * 1000 } : what

type Send = () => Promise<boolean>

/**
 * Answers a request; what needs a passkey is proved first, while it is still on screen.
 * Returns whether the hub took it. way: what else is done when it is sent.
 */
export async function sendAnswer(
  id: number,
  what: Response,
  way: (send: Send) => Promise<boolean> = (send) => send(),
): Promise<boolean> {
  const answer = withUndo(what)
  const request = hub.request(id)
  const proved = async () => {
    const { signAnswer: prove } = await import('../passkeys')
    const signed = await hub.withProof(id, answer, () => prove(id, answer))
    return signed !== undefined && way(() => hub.answer(id, signed))
  }
  if (request && needsPasskey(request, me.identity, answer)) return proved()
  if (await way(() => hub.answer(id, answer))) return true
  // An edit may make it worse than it was: that, the hub knows.
  const wanted = hub.request(id)?.problem?.code === 'proof_required' && (me.identity?.passkeys ?? 0) > 0
  return wanted && proved()
}
