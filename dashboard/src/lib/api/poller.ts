import { onReconnect } from './reconnect'

/** The browser features that Poller uses. Tests replace them. */
export interface PollerEnvironment {
  now(): number
  visible(): boolean
}

const browser: PollerEnvironment = {
  now: () => performance.now(),
  visible: () => document.visibilityState === 'visible',
}

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
    private readonly environment: PollerEnvironment = browser,
  ) {}

  /** Requests a run. */
  request(): void {
    this.pending = true
    this.schedule()
  }

  /** Handles visibilitychange: runs a request that came while the tab was hidden. */
  readonly onVisible = (): void => {
    if (this.pending) this.schedule()
  }

  stop(): void {
    this.stopped = true
    this.unfollow()
    clearTimeout(this.timer)
  }

  private schedule(): void {
    if (this.stopped || this.running || this.timer !== undefined || !this.environment.visible()) return
    const delay = Math.max(0, this.lastRun + this.interval - this.environment.now())
    this.timer = setTimeout(() => void this.runNow(), delay)
  }

  private async runNow(): Promise<void> {
    this.timer = undefined
    if (!this.environment.visible()) return
    this.pending = false
    this.running = true
    this.lastRun = this.environment.now()
    try {
      await this.run()
    } finally {
      this.running = false
      if (this.pending) this.schedule()
    }
  }
}
