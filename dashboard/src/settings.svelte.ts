import { HOLD } from './keys'

export type Theme = 'system' | 'light' | 'dark'

interface Saved {
  theme: Theme
  /** Whether single keys act (WCAG 2.1.4). */
  keys: boolean
  /** How a risky approval is given: by holding the key, or by pressing it twice. */
  confirm: 'hold' | 'twice'
  /** How long a single answer can be taken back, seconds. */
  undo: Undo
}

export type Undo = 0 | 3 | 5

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

class Settings {
  private saved: Saved = $state({
    theme: 'system',
    keys: true,
    confirm: 'hold',
    undo: 0,
    ...(read(NAME) as Partial<Saved>),
  })

  get theme(): Theme {
    return this.saved.theme
  }
  set theme(theme: Theme) {
    this.saved.theme = theme
    this.keep()
    this.show()
  }

  get keys(): boolean {
    return this.saved.keys
  }
  set keys(on: boolean) {
    this.saved.keys = on
    this.keep()
  }

  get confirm(): 'hold' | 'twice' {
    return this.saved.confirm
  }
  set confirm(how: 'hold' | 'twice') {
    this.saved.confirm = how
    this.keep()
  }

  get undo(): Undo {
    return this.saved.undo
  }
  set undo(seconds: Undo) {
    this.saved.undo = seconds
    this.keep()
  }

  /** How long a risky decision must be held, ms; 0 when it is pressed twice instead. */
  get holdTime(): number {
    return this.confirm === 'hold' ? HOLD : 0
  }

  /** Puts the theme onto the page. */
  show(): void {
    document.documentElement.dataset.theme = this.theme
  }

  private keep(): void {
    write(NAME, this.saved)
  }
}

export const settings = new Settings()

/** The requests put aside: id → until when, the hub's clock. */
export function snoozedRequests(now: number): Map<number, number> {
  const pairs = read(SNOOZED)
  const sound = (pair: unknown): pair is [number, number] =>
    Array.isArray(pair) && pair.length === 2 && pair.every(Number.isFinite) && pair[1] > now
  return new Map(Array.isArray(pairs) ? pairs.filter(sound) : [])
}

export const keepSnoozed = (requests: ReadonlyMap<number, number>): void => write(SNOOZED, [...requests])
