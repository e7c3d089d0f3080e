/** What Refresh needs of the browser. */
export interface PollerEnvironment {
  now(): number
  visible(): boolean
}

const browser: PollerEnvironment = {
  now: () => performance.now(),
  visible: () => document.visibilityState === 'visible',
}

/**
 * Runs something again when asked to, but one run at a time, at most one a
 * second, and none while nobody sees the page.
 */
export class Poller {
  private timer: ReturnType<typeof setTimeout> | undefined
  private running = false
  private pending = false
  private lastRun = -Infinity
  private stopped = false

  constructor(
    private readonly run: () => Promise<void>,
    private readonly interval = 1000,
    private readonly environment: PollerEnvironment = browser,
  ) {}

  /** Something changed. */
  want(): void {
    this.pending = true
    this.schedule()
  }

  /** Can be seen again, perhaps. */
  readonly look = (): void => {
    if (this.pending) this.schedule()
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  private schedule(): void {
    if (this.stopped || this.running || this.timer !== undefined || !this.environment.visible()) return
    const rest = Math.max(0, this.lastRun + this.interval - this.environment.now())
    this.timer = setTimeout(() => void this.runNow(), rest)
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
