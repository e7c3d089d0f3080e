type Components = typeof import('./lazyComponents')

/**
 * The parts of a request that the first picture does without. Once they are here
 * they are drawn at once, as if they had never been away.
 */
class LazyBundle {
  components: Components | undefined = $state.raw()
  failed = $state(false)
  private asked: Promise<void> | undefined

  /** Fetches them; a fetch that failed is tried again with the next request. */
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
