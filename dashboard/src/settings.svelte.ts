import { HOLD } from './keys'

export type Theme = 'system' | 'light' | 'dark'

interface Saved {
  theme: Theme
  /** Whether single keys act (WCAG 2.1.4). */
  keys: boolean
  /** How a risky approval is given: by holding the key, or by pressing it twice. */
  confirm: 'hold' | 'twice'
}

const NAME = 'hookback.settings'
const HIDDEN = 'hookback.hidden'
const HIDDEN_KEPT = 500

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

/** The undelivered answers the person has seen enough of. */
export function hiddenRequests(): Set<number> {
  const ids = read(HIDDEN)
  return new Set(Array.isArray(ids) ? ids.filter((id): id is number => typeof id === 'number') : [])
}

export function keepHidden(ids: Iterable<number>): void {
  write(HIDDEN, [...ids].slice(-HIDDEN_KEPT))
}
