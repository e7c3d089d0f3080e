import { readStored, store } from '../page/stored'

const STORAGE_KEY = 'hookback.told'
const MAX_KEYS = 200

/** Deduplicates desktop alerts across the tabs of this browser. */
export class SeenAlerts {
  // Used if the browser stores nothing, such as in a private window.
  private readonly seenHere = new Set<string>()

  /** Records an alert by its key. Returns false if a tab has already recorded it. */
  markSeen(key: string): boolean {
    if (this.seenHere.has(key)) return false
    this.seenHere.add(key)
    const stored = readStored(STORAGE_KEY)
    const seen: unknown[] = Array.isArray(stored) ? stored : []
    if (seen.includes(key)) return false
    store(STORAGE_KEY, [...seen, key].slice(-MAX_KEYS))
    return true
  }
}
