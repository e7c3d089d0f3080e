import { onReconnect } from '../../lib/api/reconnect'

type Components = typeof import('./lazyComponents')

/** The components of a request that are not needed for the first paint, loaded on demand. */
class LazyBundle {
  components: Components | undefined = $state.raw()
  failed = $state(false)
  private loading: Promise<void> | undefined

  constructor() {
    onReconnect(() => this.failed && void this.load())
  }

  /** Loads the chunk once. A failed load is retried with the next request or reconnect. */
  load(): Promise<void> {
    this.loading ??= import('./lazyComponents').then(
      (parts) => {
        this.components = parts
        this.failed = false
      },
      () => {
        this.loading = undefined
        this.failed = true
      },
    )
    return this.loading
  }
}

export const lazyBundle = new LazyBundle()
