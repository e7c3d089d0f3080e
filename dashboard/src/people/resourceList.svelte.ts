import { ApiError } from '../api'
import type { Problem } from '../types'

/** A list of the hub's, and what is done to its members. */
export class ResourceList<T> {
  /** undefined: not loaded yet. */
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

  /** Does something and loads the list anew. Returns what it returned; undefined when the hub refused. */
  async mutate<R>(what: () => Promise<R>): Promise<R | undefined> {
    if (this.busy) return undefined
    this.busy = true
    try {
      const done = await what()
      await this.load()
      return done
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      this.problem = error.problem
      return undefined
    } finally {
      this.busy = false
    }
  }
}
