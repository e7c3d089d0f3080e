import { defaults, preferenceNames, parsePreferences, type Preferences } from './preferences'

export type { Theme, Undo } from './preferences'

const NAME = 'hookback.settings'
const SNOOZED = 'hookback.snoozed'

/** Reads what a browser may refuse to keep; a private window simply forgets. */
function read(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null')
  } catch {
    return null
  }
}

function write(name: string, value: unknown): void {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // The setting holds until the page is closed.
  }
}

/** The preferences, each to be read and set; what is set is kept and shown at once. */
class Settings {
  private saved: Preferences = $state(parsePreferences(read(NAME)))

  constructor() {
    for (const name of preferenceNames)
      Object.defineProperty(this, name, {
        enumerable: true,
        get: () => this.saved[name],
        set: (value: never) => {
          this.saved[name] = value
          this.save()
        },
      })
  }

  /** How long a risky decision must be held, ms; 0 when it is pressed twice instead. */
  get holdTime(): number {
    return this.saved.confirm === 'hold' ? this.saved.hold : 0
  }

  /** All of them, such as for a file. */
  all(): Preferences {
    return $state.snapshot(this.saved)
  }

  /** Takes over what a file or another page says. */
  replace(value: unknown): void {
    this.saved = parsePreferences(value)
    this.save()
  }

  reset(): void {
    this.replace(defaults())
  }

  /** Puts the looks onto the page. */
  apply(): void {
    const { dataset } = document.documentElement
    dataset.theme = this.saved.theme
    dataset.density = this.saved.density
  }

  /** Follows what the other tabs of this browser choose; returns how to stop. */
  listen(target: Window): () => void {
    const changed = (e: StorageEvent) => {
      if (e.key !== NAME && e.key !== null) return
      this.saved = parsePreferences(read(NAME))
      this.apply()
    }
    target.addEventListener('storage', changed)
    return () => target.removeEventListener('storage', changed)
  }

  private save(): void {
    write(NAME, this.saved)
    this.apply()
  }
}

export const settings = new Settings() as Settings & Preferences

/** The requests put aside: id → until when, the hub's clock. */
export function loadSnoozed(now: number): Map<number, number> {
  const pairs = read(SNOOZED)
  const sound = (pair: unknown): pair is [number, number] =>
    Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite) && pair[1] > now
  return new Map(Array.isArray(pairs) ? pairs.filter(sound) : [])
}

export const saveSnoozed = (requests: ReadonlyMap<number, number>): void => write(SNOOZED, [...requests])
