const NAME = 'hookback.key'

/** The header that carries the key of this browser's sign-in. */
export const KEY_HEADER = 'Hookback-Key'

let fallbackKey: string | undefined

/**
 * The key of this browser's sign-in, empty without one. Its cookie says who reads; only
 * this page can read the key, so that no other page can act in that person's name.
 */
export function signInKey(): string {
  try {
    return localStorage.getItem(NAME) ?? ''
  } catch {
    return fallbackKey ?? ''
  }
}

/** Keeps the key for every tab of this browser; empty: throws it away. */
export function saveKey(key: string): void {
  fallbackKey = key
  try {
    if (key) localStorage.setItem(NAME, key)
    else localStorage.removeItem(NAME)
  } catch {
    // It is good as long as this page is open then.
  }
}

/** Whether another tab signed in or out. */
export const isKeyChange = (e: StorageEvent): boolean => e.key === NAME || e.key === null

const listeners = new Set<(reading: boolean) => void>()

/** Calls fn when the hub wanted a sign-in, were it only to read; returns how to stop that. */
export function onRefused(fn: (reading: boolean) => void): () => void {
  listeners.add(fn)
  return () => listeners.delete(fn)
}

/** The hub wanted a sign-in. */
export function notifyRefused(reading: boolean): void {
  for (const fn of listeners) fn(reading)
}
