import { problemOf } from '../api/api'
import { onReconnect } from '../api/reconnect'
import type { Problem } from '../api/types'

/** The hub's check of a draft while a person changes it. */
export class DraftCheck<Draft, Result> {
  /** The newest result; it is kept while the next draft is checked. */
  result: Result | undefined = $state.raw()
  problem: Problem | undefined = $state.raw()
  busy = $state(false)

  /** pause: how long a draft stays the same before it is checked, ms. */
  constructor(
    private readonly check: (draft: Draft, signal: AbortSignal) => Promise<Result>,
    private readonly pause: number,
  ) {}

  /** Checks the draft in a moment. Returns a function that stops it. */
  start(draft: Draft): () => void {
    const stop = new AbortController()
    this.busy = true
    const timer = setTimeout(() => void this.run(draft, stop.signal), this.pause)
    const unfollow = onReconnect(() => this.problem && void this.run(draft, stop.signal))
    return () => {
      unfollow()
      clearTimeout(timer)
      stop.abort()
    }
  }

  /** Removes the result: there is nothing to check. */
  clear(): void {
    this.result = this.problem = undefined
    this.busy = false
  }

  private async run(draft: Draft, signal: AbortSignal): Promise<void> {
    try {
      const result = await this.check(draft, signal)
      if (signal.aborted) return
      this.result = result
      this.problem = undefined
    } catch (error) {
      const problem = problemOf(error)
      if (signal.aborted) return
      this.result = undefined
      this.problem = problem
    }
    this.busy = false
  }
}
