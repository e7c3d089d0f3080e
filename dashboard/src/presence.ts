import type { Presence as Said } from './types'

/**
 * Who else has this hub open, and which requests they show. The hub counts this
 * page too; what it says is put right at once when this page turns elsewhere.
 */
export class Presence {
  /** How many pages follow the hub, this one among them; 0: not known. */
  screens = 0
  private counts = new Map<number, number>() // request → pages that show it
  private viewing = 0

  /** This page shows another request; 0: none. */
  setViewing(id: number): void {
    this.add(this.viewing, -1)
    this.viewing = id
    this.add(id, 1)
  }

  update(said: Said): void {
    this.screens = said.screens
    this.counts = new Map(said.looking.map((l) => [l.id, l.screens]))
  }

  /** The line is down: nobody knows. */
  forget(): void {
    this.screens = 0
    this.counts.clear()
  }

  /** How many other pages show a request right now. */
  otherViewers(id: number): number {
    return Math.max(0, (this.counts.get(id) ?? 0) - (id === this.viewing ? 1 : 0))
  }

  private add(id: number, by: number): void {
    if (id === 0 || this.screens === 0) return
    this.counts.set(id, Math.max(0, (this.counts.get(id) ?? 0) + by))
  }
}
