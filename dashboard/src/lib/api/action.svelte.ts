import { untrack } from 'svelte'
import { createSubscriber } from 'svelte/reactivity'
import { problemOf } from './api'
import { onReconnect } from './reconnect'
import type { Problem } from './types'

/**
 * What a person does at the hub, such as to save a form. Its problem passes with the next attempt. One of
 * the connection or of the hub itself passes when the page has reached the hub again; a refusal does not.
 */
export class Action {
  busy = $state(false)
  private refused: Problem | undefined = $state.raw()
  private readonly follow = createSubscriber(() => onReconnect(() => this.reconnected()))

  /** Why the last attempt failed. */
  get problem(): Problem | undefined {
    this.follow()
    return this.refused
  }

  set problem(problem: Problem | undefined) {
    this.refused = problem
  }

  private reconnected(): void {
    const status = this.refused?.status ?? 0
    if (status === 0 || status >= 500) this.refused = undefined
  }

  /** Sends it, unless it is being sent. Reports whether the hub accepted it. */
  async run(send: () => Promise<unknown>): Promise<boolean> {
    if (untrack(() => this.busy)) return false
    this.busy = true
    this.refused = undefined
    try {
      await send()
      return true
    } catch (error) {
      this.refused = problemOf(error)
      return false
    } finally {
      this.busy = false
    }
  }
}
