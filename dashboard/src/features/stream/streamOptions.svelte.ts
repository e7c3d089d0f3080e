import { readStored, store } from '../../lib/page/stored'

/** The optional columns in order. The summary column is always shown. */
export const columns = ['time', 'agent', 'session', 'type', 'tool', 'model', 'took'] as const
export type Column = (typeof columns)[number]

interface StoredOptions {
  newestFirst: boolean
  wrap: boolean
  columns: Column[]
  filters: string[]
}

const NAME = 'hookback.stream'
const FILTERS_KEPT = 30

/** The display options and saved filters of the stream, stored in this browser. */
class StreamOptions {
  private saved: StoredOptions = $state({
    newestFirst: false,
    wrap: false,
    columns: ['time', 'agent', 'type', 'tool', 'took'],
    filters: [],
    ...(readStored(NAME) as Partial<StoredOptions>),
  })

  get newestFirst(): boolean {
    return this.saved.newestFirst
  }
  set newestFirst(on: boolean) {
    this.saved.newestFirst = on
    this.keep()
  }

  get wrap(): boolean {
    return this.saved.wrap
  }
  set wrap(on: boolean) {
    this.saved.wrap = on
    this.keep()
  }

  /** The visible columns in order. */
  readonly columns: readonly Column[] = $derived(columns.filter((c) => this.saved.columns.includes(c)))

  toggle(column: Column): void {
    const now = this.saved.columns
    this.saved.columns = now.includes(column) ? now.filter((c) => c !== column) : [...now, column]
    this.keep()
  }

  /** The saved filters, newest first. */
  get filters(): readonly string[] {
    return this.saved.filters
  }

  keepFilter(text: string): void {
    this.saved.filters = [text, ...this.saved.filters.filter((f) => f !== text)].slice(0, FILTERS_KEPT)
    this.keep()
  }

  dropFilter(text: string): void {
    this.saved.filters = this.saved.filters.filter((f) => f !== text)
    this.keep()
  }

  private keep(): void {
    store(NAME, this.saved)
  }
}

export const streamOptions = new StreamOptions()
