import type { RiskyCall } from '../api/schema'

/** The number of ratings that the page holds. */
const CAPACITY = 20_000

const ratings = new Map<number, RiskyCall>() // event id → rating

/** The hub's rating of the tool call that an event starts: a risky or a refused one. */
export const ratingOf = (id: number): RiskyCall | undefined => ratings.get(id)

/** Stores ratings, the newer over the older. */
export function storeRatings(calls: readonly RiskyCall[]): void {
  for (const call of calls) {
    ratings.delete(call.id)
    ratings.set(call.id, call)
  }
  for (const id of ratings.keys()) {
    if (ratings.size <= CAPACITY) break
    ratings.delete(id)
  }
}

export const clearRatings = (): void => ratings.clear()
