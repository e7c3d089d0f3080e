const listeners = new Set<() => void>()

/** Calls fn each time the page has reached the hub again. Returns a function that ends it. */
export function onReconnect(fn: () => void): () => void {
  listeners.add(fn)
  return () => listeners.delete(fn)
}

/** Reports that the page has reached the hub again: data from before may be old, and errors are. */
export function announceReconnect(): void {
  for (const fn of [...listeners]) fn()
}
