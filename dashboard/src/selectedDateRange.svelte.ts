import { dateRangeQuery, isUnbounded, parseDateRange, type DateRange } from './dateRange'
import { router } from './router.svelte'

const NAME = 'hookback.period'

function loadRange(): DateRange {
  try {
    return parseDateRange(new URLSearchParams(localStorage.getItem(NAME) ?? '')) ?? {}
  } catch {
    return {} // not kept: any time
  }
}

/** The period that is looked at, the same on every screen: the address says it, else what was chosen last. */
class SelectedRange {
  private last: DateRange = $state.raw(loadRange())
  readonly current = $derived(parseDateRange(router.query) ?? this.last)

  choose(period: DateRange): void {
    this.last = period
    try {
      localStorage.setItem(NAME, new URLSearchParams(dateRangeQuery(period)).toString())
    } catch {
      // It holds until the page is closed.
    }
    router.set(dateRangeQuery(period))
  }

  /** Writes what was chosen elsewhere into the address, so that it can be shared. */
  syncToUrl(): void {
    const here = parseDateRange(router.query)
    if (here) this.last = here
    else if (!isUnbounded(this.last)) router.set(dateRangeQuery(this.last))
  }
}

export const selectedRange = new SelectedRange()
