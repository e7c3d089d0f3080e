// The heights of the list in px. They equal the styles of the list and its rows.

/** The header of a group. */
export const HEADER = 28

/** A row, the style variable --row. */
export const ROW = 44

/**
 * The offsets of the rows in their group, and last the height of all rows.
 * duplicates: the number of further rows below a row if it is open.
 */
export function layOut(rows: readonly { duplicates: number; open: boolean }[]): Float64Array {
  const offsets = new Float64Array(rows.length + 1)
  for (const [i, { duplicates, open }] of rows.entries()) {
    offsets[i + 1] = (offsets[i] ?? 0) + ROW * (open ? 1 + duplicates : 1)
  }
  return offsets
}

/** The indexes of the rows between two offsets, and one that is always included; -1 for none. */
export function rowsWithin(offsets: Float64Array, from: number, to: number, always = -1): number[] {
  const found: number[] = []
  for (let i = 0; i + 1 < offsets.length; i++)
    if (i === always || ((offsets[i + 1] ?? 0) > from && (offsets[i] ?? 0) < to)) found.push(i)
  return found
}
