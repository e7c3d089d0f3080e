import { SvelteSet } from 'svelte/reactivity'

/** The requests a person has selected to approve them together. */
class Selection {
  readonly ids = new SvelteSet<number>()

  toggle(id: number): void {
    if (!this.ids.delete(id)) this.ids.add(id)
  }

  /** Forgets those that are no longer there to be approved. */
  retain(still: ReadonlySet<number>): void {
    for (const id of this.ids) if (!still.has(id)) this.ids.delete(id)
  }

  clear(): void {
    this.ids.clear()
  }
}

export const selection = new Selection()

/** What became of the last approval of several, until the person has seen it. */
export const bulkResult = $state<{ refused: { id: number; title: string; why: string }[] }>({ refused: [] })
