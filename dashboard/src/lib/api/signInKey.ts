const NAME = 'hookback.key'

/** The header that carries the key of this browser's sign-in. */
export const KEY_HEADER = 'Hookback-Key'

let fallbackKey: string | undefined

/**
 * The key of this browser's sign-in; empty without one. The cookie authenticates reads. The
 * key, which only this origin can read, authenticates changes (CSRF protection).
 */
export function signInKey(): string {
  try {
    return localStorage.getItem(NAME) ?? ''
  } catch {
    return fallbackKey ?? ''
  }
}

/** Stores the key for all tabs of this browser; empty removes it. */
export function saveKey(key: string): void {
  fallbackKey = key
  try {
    if (key) localStorage.setItem(NAME, key)
    else localStorage.removeItem(NAME)
  } catch {
    // Storage is unavailable; the key lasts until the page is closed.
  }
}

/** Whether another tab signed in or out. */
export const isKeyChange = (e: StorageEvent): boolean => e.key === NAME || e.key === null

const listeners = new Set<(reading: boolean) => void>()

/**
 * Calls fn when the hub requires a sign-in. reading is true for reads and false for
 * changes. Returns the unsubscribe function.
 */
export function onRefused(fn: (reading: boolean) => void): () => void {
  listeners.add(fn)
  return () => listeners.delete(fn)
}

/** Reports that the hub required a sign-in. */
export function notifyRefused(reading: boolean): void {
  for (const fn of listeners) fn(reading)
}
