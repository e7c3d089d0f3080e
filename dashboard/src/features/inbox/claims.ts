import { ApiError } from '../../lib/api/api'
import * as api from '../../lib/api/inboxApi'
import { problemText } from '../../lib/format/errorText'
import { hub } from '../../lib/stream/liveState.svelte'

/** Loads who has which request; the stream sends later changes. */
export async function loadClaims(): Promise<void> {
  const before = hub.claims
  const list = await api.claims().catch(() => undefined) // they inform only
  if (list?.claims && hub.claims === before) hub.setClaims(list.claims)
}

/** Gives a request to a person, or to no one. Returns why that failed, or an empty text. */
export async function giveRequest(id: number, to?: string): Promise<string> {
  try {
    hub.setClaims((await (to === undefined ? api.releaseClaim(id) : api.claim(id, to))).claims)
    return ''
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return problemText(error.problem)
  }
}
