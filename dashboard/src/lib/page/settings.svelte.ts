import { defaults, preferenceNames, parsePreferences, type Preferences } from './preferences'
import { readStored, store } from './stored'

export type { Theme, Undo } from './preferences'

const NAME = 'hookback.settings'
const SNOOZED = 'hookback.snoozed'

/** The preferences as properties. Setting one stores and applies it. */
class Settings {
  private saved: Preferences = $state(parsePreferences(readStored(NAME)))

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

  /** A snapshot of all preferences. */
  all(): Preferences {
    return $state.snapshot(this.saved)
  }

  reset(): void {
    this.saved = defaults()
    this.save()
  }

  /** Applies the theme to the page. */
  apply(): void {
    document.documentElement.dataset.theme = this.saved.theme
  }

  /** Follows changes of other tabs. Returns a stop function. */
  listen(target: Window): () => void {
    const changed = (e: StorageEvent) => {
      if (e.key !== NAME && e.key !== null) return
      this.saved = parsePreferences(readStored(NAME))
      this.apply()
    }
    target.addEventListener('storage', changed)
    return () => target.removeEventListener('storage', changed)
  }

  private save(): void {
    store(NAME, this.saved)
    this.apply()
  }
}

export const settings = new Settings() as Settings & Preferences

/** The snoozed requests: id → end of the snooze by the hub's clock. */
export function loadSnoozed(now: number): Map<number, number> {
  const pairs = readStored(SNOOZED)
  const sound = (pair: unknown): pair is [number, number] =>
    Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite) && pair[1] > now
  return new Map(Array.isArray(pairs) ? pairs.filter(sound) : [])
}

export const saveSnoozed = (requests: ReadonlyMap<number, number>): void => store(SNOOZED, [...requests])
