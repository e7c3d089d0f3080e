import { readStored, store } from '../../lib/page/stored'

const NAME = 'hookback.stream'
const FILTERS_KEPT = 30

/** The filters of the stream that are saved in this browser. */
class SavedFilters {
  private saved: { filters: string[] } = $state({ filters: [], ...(readStored(NAME) as object) })

  /** The newest first. */
  get all(): readonly string[] {
    return this.saved.filters
  }

  keep(text: string): void {
    this.set([text, ...this.all.filter((f) => f !== text)].slice(0, FILTERS_KEPT))
  }

  drop(text: string): void {
    this.set(this.all.filter((f) => f !== text))
  }

  private set(filters: string[]): void {
    this.saved = { filters }
    store(NAME, this.saved)
  }
}

export const savedFilters = new SavedFilters()
