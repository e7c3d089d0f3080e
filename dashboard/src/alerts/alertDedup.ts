const NAME = 'hookback.told'
const KEPT = 200

/** What the tabs of this browser have told the person already: nothing is told twice. */
export class SeenAlerts {
  // For where the browser keeps nothing, such as in a private window.
  private readonly seenHere = new Set<string>()

  constructor(private readonly store: Storage | undefined = safeStorage()) {}

  /** Whether this is the first to tell it. */
  markSeen(what: string): boolean {
    if (this.seenHere.has(what)) return false
    this.seenHere.add(what)
    const told = this.read()
    if (told.includes(what)) return false
    try {
      this.store?.setItem(NAME, JSON.stringify([...told, what].slice(-KEPT)))
    } catch {
      // full or forbidden
    }
    return true
  }

  private read(): string[] {
    try {
      const told: unknown = JSON.parse(this.store?.getItem(NAME) ?? '[]')
      return Array.isArray(told) ? told.filter((what) => typeof what === 'string') : []
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
