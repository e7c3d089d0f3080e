import { ApiError } from '../api/api'
import { replay } from '../api/inboxApi'
import { onReconnect } from '../api/reconnect'
import type { Replay, ReplayDraft } from '../api/schema'
import type { Problem } from '../api/types'

/** Debounces a replay while the draft changes, ms. */
const PAUSE = 400

/** The replay of a draft over the last 30 days. */
export class ReplayRun {
  /** The newest result; it is kept while the next draft is compared. */
  result: Replay | undefined = $state.raw()
  problem: Problem | undefined = $state.raw()
  busy = $state(false)

  /** Compares the draft in a moment. Returns a function that stops it. */
  start(draft: ReplayDraft): () => void {
    const stop = new AbortController()
    this.busy = true
    const timer = setTimeout(() => void this.run(draft, stop.signal), PAUSE)
    const unfollow = onReconnect(() => this.problem && void this.run(draft, stop.signal))
    return () => {
      unfollow()
      clearTimeout(timer)
      stop.abort()
    }
  }

  /** Removes the result: there is nothing to compare. */
  clear(): void {
    this.result = this.problem = undefined
    this.busy = false
  }

  private async run(draft: ReplayDraft, signal: AbortSignal): Promise<void> {
    try {
      const result = await replay(draft, signal)
      if (signal.aborted) return
      this.result = result
      this.problem = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (signal.aborted) return
      this.result = undefined
      this.problem = error.problem
    }
    if (!signal.aborted) this.busy = false
  }
}
