const STORAGE_KEY = 'hookback.told'
const MAX_KEYS = 200

/** Deduplicates desktop alerts across the tabs of this browser. */
export class SeenAlerts {
  // Used if the browser stores nothing, such as in a private window.
  private readonly seenHere = new Set<string>()

  constructor(private readonly store: Storage | undefined = safeStorage()) {}

  /** Records an alert by its key. Returns false if a tab has already recorded it. */
  markSeen(key: string): boolean {
    if (this.seenHere.has(key)) return false
    this.seenHere.add(key)
    const seen = this.read()
    if (seen.includes(key)) return false
    try {
      this.store?.setItem(STORAGE_KEY, JSON.stringify([...seen, key].slice(-MAX_KEYS)))
    } catch {
      // The storage is full or blocked: this tab still deduplicates its own alerts.
    }
    return true
  }

  private read(): string[] {
    try {
      const keys: unknown = JSON.parse(this.store?.getItem(STORAGE_KEY) ?? '[]')
      return Array.isArray(keys) ? keys.filter((key) => typeof key === 'string') : []
    } catch {
      return []
    }
  }
}

function safeStorage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
