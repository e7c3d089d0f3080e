/** Runs fn when the browser is idle, after at most 250 ms. Returns a cancel function. */
export function runWhenIdle(fn: () => void): () => void {
  // Safari does not support requestIdleCallback.
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(fn, 50)
    return () => clearTimeout(timer)
  }
  const id = requestIdleCallback(fn, { timeout: 250 })
  return () => cancelIdleCallback(id)
}
