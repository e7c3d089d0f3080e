import { ApiError } from './api'
import type { Problem } from './types'

/** A list that the hub stores, with its loading state. */
export class ResourceList<T> {
  /** undefined until loaded */
  items: T[] | undefined = $state.raw()
  problem: Problem | undefined = $state.raw()
  busy = $state(false)

  constructor(private readonly fetch: () => Promise<T[]>) {}

  async load(): Promise<void> {
    try {
      this.items = await this.fetch()
      this.problem = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.problem = error.problem
    }
  }

  /**
   * Runs a change and reloads the list. Returns the result of the change; undefined if the hub
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
      if (!(error instanceof ApiError)) throw error
      this.problem = error.problem
      return undefined
    } finally {
      this.busy = false
    }
  }
}
