import type { Presence as Said } from '../api/types'

/**
 * The open pages of this hub, and the requests they show. The hub counts this page, too, so
 * its own share is adjusted locally and immediately.
 */
export class Presence {
  /** Number of open pages including this one; 0 if unknown. */
  screens = 0
  private counts = new Map<number, number>() // request → number of pages that show it
  private people = new Map<number, string[]>() // request → the signed-in people who look at it
  private viewing = 0

  /** Sets the request that this page shows; 0 for none. */
  setViewing(id: number): void {
    this.add(this.viewing, -1)
    this.viewing = id
    this.add(id, 1)
  }

  update(said: Said): void {
    this.screens = said.screens
    this.counts = new Map(said.looking.map((l) => [l.id, l.screens]))
    this.people = new Map(said.looking.map((l) => [l.id, l.people ?? []]))
  }

  /** Clears the state when the connection is lost. */
  forget(): void {
    this.screens = 0
    this.counts.clear()
    this.people.clear()
  }

  /** Number of other pages that show a request. */
  otherViewers(id: number): number {
    return Math.max(0, (this.counts.get(id) ?? 0) - (id === this.viewing ? 1 : 0))
  }

  /** The names of the other people who look at a request; me is the name of the user. */
  otherPeople(id: number, me: string): string[] {
    return (this.people.get(id) ?? []).filter((name) => name !== me)
  }

  private add(id: number, by: number): void {
    if (id === 0 || this.screens === 0) return
    this.counts.set(id, Math.max(0, (this.counts.get(id) ?? 0) + by))
  }
}
