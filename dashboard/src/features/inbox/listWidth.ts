import { readStored, store } from '../../lib/page/stored'

/** The limits of the width of the list, px. */
export const NARROWEST = 300
export const WIDEST = 560

const KEY = 'hookback.listWidth'

/** The width that the person chose in this browser; undefined for the usual one. */
export function loadListWidth(): number | undefined {
  const width = Number(readStored(KEY))
  return width >= NARROWEST && width <= WIDEST ? width : undefined
}

export function saveListWidth(width: number | undefined): number | undefined {
  store(KEY, width)
  return width
}
