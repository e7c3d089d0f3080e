/** Does something when the page has nothing better to do, soon in any case; returns how to call it off. */
export function idly(fn: () => void): () => void {
  // Safari has none.
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(fn, 50)
    return () => clearTimeout(timer)
  }
  const id = requestIdleCallback(fn, { timeout: 250 })
  return () => cancelIdleCallback(id)
}
