type Parts = typeof import('./parts')

/**
 * The parts of a request that the first picture does without. Once they are here
 * they are drawn at once, as if they had never been away.
 */
class Later {
  parts: Parts | undefined = $state.raw()
  failed = $state(false)
  private asked: Promise<void> | undefined

  /** Fetches them; a fetch that failed is tried again with the next request. */
  load(): Promise<void> {
    this.asked ??= import('./parts').then(
      (parts) => {
        this.parts = parts
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

export const later = new Later()
