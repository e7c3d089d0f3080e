import { onReconnect } from './reconnect'

/**
 * Runs a task on request: one run at a time, at most one per interval, and none while the
 * tab is hidden. Requests in the meantime are coalesced into one run. A reconnect requests a run.
 */
export class Poller {
  private timer: ReturnType<typeof setTimeout> | undefined
  private running = false
  private pending = false
  private lastRun = -Infinity
  private stopped = false
  private readonly unfollow = onReconnect(() => this.request())

  constructor(
    private readonly run: () => Promise<void>,
    private readonly interval = 1000,
  ) {
    document.addEventListener('visibilitychange', this.onVisible)
  }

  /** Requests a run. */
  request(): void {
    this.pending = true
    this.schedule()
  }

  /** Runs a request that came while the tab was hidden. */
  private readonly onVisible = (): void => {
    if (this.pending) this.schedule()
  }

  stop(): void {
    this.stopped = true
    this.unfollow()
    document.removeEventListener('visibilitychange', this.onVisible)
    clearTimeout(this.timer)
  }

  private schedule(): void {
    if (this.stopped || this.running || this.timer !== undefined || document.hidden) return
    const delay = Math.max(0, this.lastRun + this.interval - performance.now())
    this.timer = setTimeout(() => void this.runNow(), delay)
  }

  private async runNow(): Promise<void> {
    this.timer = undefined
    if (document.hidden) return
    this.pending = false
    this.running = true
    this.lastRun = performance.now()
    try {
      await this.run()
    } finally {
      this.running = false
      if (this.pending) this.schedule()
    }
  }
}
