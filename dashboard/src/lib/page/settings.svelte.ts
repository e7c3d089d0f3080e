import { defaults, type Preferences } from './preferences'
import { readStored, store } from './stored'

export type { Theme, Undo } from './preferences'

const NAME = 'hookback.settings'
const SNOOZED = 'hookback.snoozed'

const load = (): Preferences => ({ ...defaults(), ...(readStored(NAME) as Partial<Preferences>) })

/** The preferences as properties. Setting one stores and applies it. */
class Settings {
  private saved: Preferences = $state(load())

  constructor() {
    for (const name of Object.keys(defaults()) as (keyof Preferences)[])
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
      this.saved = load()
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
  if (!Array.isArray(pairs)) return new Map()
  return new Map((pairs as [id: number, until: number][]).filter(([, until]) => until > now))
}

export const saveSnoozed = (requests: ReadonlyMap<number, number>): void => store(SNOOZED, [...requests])
