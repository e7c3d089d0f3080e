import { ApiError } from '../api'
import { stats } from '../inboxApi'
import { Poller } from '../overview/poller'
import { isUnbounded, dateRangeBounds, type DateRange } from '../dateRange'
import type { HitlStats } from '../schema'

/** How far back the hub counts at most. */
const LONGEST = 90

/** What stats are asked for a period: any time is as far back as the hub counts. */
export function statsQuery(period: DateRange, now: number): { days?: number; from?: number; to?: number } {
  if (isUnbounded(period)) return { days: LONGEST }
  if (period.days) return { days: Math.min(period.days, LONGEST) }
  const { from, to } = dateRangeBounds(period, now)
  return {
    from: from ?? Math.max(0, (to ?? now) - (LONGEST - 1) * 86_400_000),
    ...(to !== undefined && { to }),
  }
}

/** How many requests there are by status, kept fresh while a screen shows them. */
export class RequestCounts {
  now: HitlStats | undefined = $state.raw()
  /** Why there are none; what is there is older then. */
  problem: string | undefined = $state()
  private wanted: Parameters<typeof stats>[0] = {}
  private asked = 0
  readonly refresh = new Poller(() => this.load(), 2000)

  want(wanted: Parameters<typeof stats>[0]): void {
    this.wanted = wanted
    this.refresh.want()
  }

  private async load(): Promise<void> {
    const mine = ++this.asked
    try {
      const found = await stats(this.wanted)
      if (mine !== this.asked) return
      this.now = found
      this.problem = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (mine === this.asked) this.problem = error.message
    }
  }
}
