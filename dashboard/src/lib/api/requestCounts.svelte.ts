import { ApiError } from './api'
import { stats } from './inboxApi'
import { Poller } from './poller'
import { isUnbounded, dateRangeBounds, type DateRange } from '../format/dateRange'
import type { HitlStats } from './schema'

/** The longest period, in days, that the hub counts. */
const LONGEST = 90

/** The stats query of a date range; an unbounded range becomes the longest period. */
export function statsQuery(period: DateRange, now: number): { days?: number; from?: number; to?: number } {
  if (isUnbounded(period)) return { days: LONGEST }
  if (period.days) return { days: Math.min(period.days, LONGEST) }
  const { from, to } = dateRangeBounds(period, now)
  return {
    from: from ?? Math.max(0, (to ?? now) - (LONGEST - 1) * 86_400_000),
    ...(to !== undefined && { to }),
  }
}

/** The number of requests by status, refreshed while a screen shows it. */
export class RequestCounts {
  now: HitlStats | undefined = $state.raw()
  /** Why the last load failed; current is outdated then. */
  problem: string | undefined = $state()
  private wanted: Parameters<typeof stats>[0] = {}
  private loads = 0
  readonly refresh = new Poller(() => this.load(), 2000)

  want(wanted: Parameters<typeof stats>[0]): void {
    this.wanted = wanted
    this.refresh.request()
  }

  private async load(): Promise<void> {
    const mine = ++this.loads
    try {
      const found = await stats(this.wanted)
      if (mine !== this.loads) return
      this.now = found
      this.problem = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (mine === this.loads) this.problem = error.message
    }
  }
}
