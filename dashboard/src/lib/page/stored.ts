/** The value stored under a name in this browser; undefined if there is none, or no storage. */
export function readStored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

/** Stores a value; undefined removes it. Without storage, it lasts as long as the page. */
export function store(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // The page keeps it in memory.
  }
}
