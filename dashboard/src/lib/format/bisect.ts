/** The first index of low to high for which isBefore is false, by binary search. It is true for those before. */
export function bisect(low: number, high: number, isBefore: (i: number) => boolean): number {
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}
