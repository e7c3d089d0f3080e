import { createSubscriber } from 'svelte/reactivity'
import { problemOf } from './api'
import { onReconnect } from './reconnect'
import type { Problem } from './types'

/**
 * Something that the hub stores, with its loading state. While it is on screen, each reconnect fetches it
 * again, which also clears its error.
 */
export class Resource<T> {
  private current: T | undefined = $state.raw()
  private refused: Problem | undefined = $state.raw()
  busy = $state(false)
  private loads = 0
  private readonly follow = createSubscriber(() => onReconnect(() => void this.load()))

  constructor(private readonly fetch: () => Promise<T>) {}

  /** undefined until loaded */
  get value(): T | undefined {
    this.follow()
    return this.current
  }

  set value(value: T | undefined) {
    this.current = value
  }

  /** Why the last load or change failed. */
  get problem(): Problem | undefined {
    this.follow()
    return this.refused
  }

  /** Fetches it. A later load wins, no matter in which order the responses arrive. */
  async load(): Promise<void> {
    const mine = ++this.loads
    try {
      const value = await this.fetch()
      if (mine !== this.loads) return
      this.current = value
      this.refused = undefined
    } catch (error) {
      const problem = problemOf(error)
      if (mine === this.loads) this.refused = problem
    }
  }

  /**
   * Runs a change and loads it again. Returns the result of the change; undefined if the hub
   * refused it or another change is running.
   */
  async mutate<R>(change: () => Promise<R>): Promise<R | undefined> {
    if (this.busy) return undefined
    this.busy = true
    try {
      const result = await change()
      await this.load()
      return result
    } catch (error) {
      this.refused = problemOf(error)
      return undefined
    } finally {
      this.busy = false
    }
  }
}
