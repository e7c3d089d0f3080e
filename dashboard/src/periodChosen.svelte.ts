import { inAddress, isAll, periodIn, type Period } from './period'
import { router } from './router.svelte'

const NAME = 'hookback.period'

function kept(): Period {
  try {
    return periodIn(new URLSearchParams(localStorage.getItem(NAME) ?? '')) ?? {}
  } catch {
    return {} // not kept: any time
  }
}

/** The period that is looked at, the same on every screen: the address says it, else what was chosen last. */
class Chosen {
  private last: Period = $state.raw(kept())
  readonly now = $derived(periodIn(router.query) ?? this.last)

  choose(period: Period): void {
    this.last = period
    try {
      localStorage.setItem(NAME, new URLSearchParams(inAddress(period)).toString())
    } catch {
      // It holds until the page is closed.
    }
    router.set(inAddress(period))
  }

  /** Writes what was chosen elsewhere into the address, so that it can be shared. */
  show(): void {
    const here = periodIn(router.query)
    if (here) this.last = here
    else if (!isAll(this.last)) router.set(inAddress(this.last))
  }
}

export const period = new Chosen()
