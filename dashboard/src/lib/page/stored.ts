/** Where a value is stored: for all tabs of this browser, or for this one across reloads. */
type Place = 'localStorage' | 'sessionStorage'

/** The value stored under a name; undefined if there is none, or no storage. */
export function readStored(name: string, place: Place = 'localStorage'): unknown {
  try {
    return JSON.parse(window[place].getItem(name) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a value; undefined removes it. Without storage, it lasts as long as the page. */
export function store(name: string, value: unknown, place: Place = 'localStorage'): void {
  try {
    if (value === undefined) window[place].removeItem(name)
    else window[place].setItem(name, JSON.stringify(value))
  } catch {
    // The page keeps it in memory.
  }
}

/** Takes the secret of a link out of the address bar, and keeps it across reloads. Empty: the link has none. */
export function takeSecret(name: string, prefix = ''): string {
  const found = location.hash.startsWith(`#${prefix}`) ? location.hash.slice(1) : ''
  if (!found) return String(readStored(name, 'sessionStorage') ?? '')
  history.replaceState(history.state, '', location.pathname)
  store(name, found, 'sessionStorage')
  return found
}
