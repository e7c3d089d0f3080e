/** The limits of the width of the list, px. */
export const NARROWEST = 300
export const WIDEST = 560

const KEY = 'hookback.listWidth'

/** The width that the person chose in this browser; undefined for the usual one. */
export function loadListWidth(): number | undefined {
  try {
    const width = Number(localStorage.getItem(KEY))
    return width >= NARROWEST && width <= WIDEST ? width : undefined
  } catch {
    return undefined // storage is unavailable
  }
}

export function saveListWidth(width: number | undefined): number | undefined {
  try {
    if (width === undefined) localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, String(width))
  } catch {
    // The width lasts as long as the page.
  }
  return width
}
