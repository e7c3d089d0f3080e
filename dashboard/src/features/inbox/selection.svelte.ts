import { SvelteSet } from 'svelte/reactivity'

/** The requests selected for bulk approval. */
class Selection {
  readonly ids = new SvelteSet<number>()

  /** Selects these requests, or none of them if all are selected. */
  toggle(ids: readonly number[]): void {
    const selected = ids.every((id) => this.ids.has(id))
    for (const id of ids)
      if (selected) this.ids.delete(id)
      else this.ids.add(id)
  }

  /** Removes all ids that are not in the set. */
  retain(still: ReadonlySet<number>): void {
    for (const id of this.ids) if (!still.has(id)) this.ids.delete(id)
  }

  clear(): void {
    this.ids.clear()
  }
}

export const selection = new Selection()

/** The rejected requests of the last bulk approval, until the person dismisses them. */
export const bulkResult = $state<{ refused: { id: number; title: string; why: string }[] }>({ refused: [] })
