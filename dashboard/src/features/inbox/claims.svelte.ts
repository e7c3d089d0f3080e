import { ApiError, people } from '../../lib/api/api'
import * as api from '../../lib/api/inboxApi'
import { me } from '../../lib/api/currentUser.svelte'
import { hub } from '../../lib/stream/liveState.svelte'
import type { Claim } from '../../lib/api/schema'
import { lazyInboxText } from './lazyText'

/** Claims requests and hands them over. The active claims are part of the hub's state. */
class Claims {
  /** The names that a request can be handed over to; empty until loaded. */
  names: string[] = $state.raw([])
  /** The last change that failed: the request and why. */
  failure: { id: number; text: string } | undefined = $state.raw()

  /** Loads the claims; the stream sends later changes. */
  async load(): Promise<void> {
    const before = hub.claims
    const list = await api.claims().catch(() => undefined) // they inform only
    if (list?.claims && hub.claims === before) hub.setClaims(list.claims)
  }

  /** Loads who can get a request, which is everyone who may answer except the person. */
  async loadNames(): Promise<void> {
    const all = await people().catch(() => [])
    this.names = all.filter((p) => p.role !== 'viewer' && p.name !== me.identity?.name).map((p) => p.name)
  }

  /** Claims a request, or hands it over. */
  claim(id: number, to?: string): Promise<void> {
    return this.change(id, () => api.claim(id, to))
  }

  release(id: number): Promise<void> {
    return this.change(id, () => api.releaseClaim(id))
  }

  private async change(id: number, run: () => Promise<{ claims: Claim[] }>): Promise<void> {
    this.failure = undefined
    try {
      hub.setClaims((await run()).claims)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.failure = { id, text: error.problem.hint ?? error.problem.detail ?? lazyInboxText.claim.failed }
    }
  }
}

export const claims = new Claims()
