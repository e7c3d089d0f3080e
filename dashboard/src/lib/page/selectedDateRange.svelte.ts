import { dateRangeQuery, isUnbounded, parseDateRange, type DateRange } from '../format/dateRange'
import { router } from './router.svelte'

const NAME = 'hookback.period'

function loadRange(): DateRange {
  try {
    return parseDateRange(new URLSearchParams(localStorage.getItem(NAME) ?? '')) ?? {}
  } catch {
    return {} // storage is unavailable: any time
  }
}

/** The date range of every screen: the one in the URL, or else the last selection. */
class SelectedRange {
  private last: DateRange = $state.raw(loadRange())
  readonly current = $derived(parseDateRange(router.query) ?? this.last)

  choose(period: DateRange): void {
    this.last = period
    try {
      localStorage.setItem(NAME, new URLSearchParams(dateRangeQuery(period)).toString())
    } catch {
      // Storage is unavailable; the selection lasts until the page is closed.
    }
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
