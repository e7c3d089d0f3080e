type Components = typeof import('./lazyComponents')

/**
 * Loads the components of a request that the first paint can do without.
 */
class LazyBundle {
  components: Components | undefined = $state.raw()
  failed = $state(false)
  private asked: Promise<void> | undefined

  /** Loads the chunk once. A failed load is retried with the next request. */
  load(): Promise<void> {
    this.asked ??= import('./lazyComponents').then(
      (parts) => {
        this.components = parts
        this.failed = false
      },
      () => {
        this.asked = undefined
        this.failed = true
      },
    )
    return this.asked
  }
}

export const lazyBundle = new LazyBundle()
