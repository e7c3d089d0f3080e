import { dateRangeQuery, isUnbounded, parseDateRange, type DateRange } from '../format/dateRange'
import { router } from './router.svelte'
import { readStored, store } from './stored'

const NAME = 'hookback.period'

const loadRange = (): DateRange => parseDateRange(new URLSearchParams(String(readStored(NAME) ?? ''))) ?? {}

/** The date range of every screen: the one in the URL, or else the last selection. */
class SelectedRange {
  private last: DateRange = $state.raw(loadRange())
  readonly current = $derived(parseDateRange(router.query) ?? this.last)

  choose(period: DateRange): void {
    this.last = period
    store(NAME, new URLSearchParams(dateRangeQuery(period)).toString())
    router.set(dateRangeQuery(period))
  }

  /** Adds the selection to the URL, so the link can be shared. */
  syncToUrl(): void {
    const here = parseDateRange(router.query)
    if (here) this.last = here
    else if (!isUnbounded(this.last)) router.set(dateRangeQuery(this.last))
  }
}

export const selectedRange = new SelectedRange()
