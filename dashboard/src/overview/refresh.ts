/** What Refresh needs of the browser. */
export interface World {
  now(): number
  visible(): boolean
}

const browser: World = {
  now: () => performance.now(),
  visible: () => document.visibilityState === 'visible',
}

/**
 * Runs something again when asked to, but one run at a time, at most one a
 * second, and none while nobody sees the page.
 */
export class Refresh {
  private timer: ReturnType<typeof setTimeout> | undefined
  private running = false
  private wanted = false
  private last = -Infinity
  private stopped = false

  constructor(
    private readonly run: () => Promise<void>,
    private readonly pause = 1000,
    private readonly world: World = browser,
  ) {}

  /** Something changed. */
  want(): void {
    this.wanted = true
    this.plan()
  }

  /** Can be seen again, perhaps. */
  readonly look = (): void => {
    if (this.wanted) this.plan()
  }

  stop(): void {
    this.stopped = true
    clearTimeout(this.timer)
  }

  private plan(): void {
    if (this.stopped || this.running || this.timer !== undefined || !this.world.visible()) return
    const rest = Math.max(0, this.last + this.pause - this.world.now())
    this.timer = setTimeout(() => void this.go(), rest)
  }

  private async go(): Promise<void> {
    this.timer = undefined
    if (!this.world.visible()) return
    this.wanted = false
    this.running = true
    this.last = this.world.now()
    try {
      await this.run()
    } finally {
      this.running = false
      if (this.wanted) this.plan()
    }
  }
}
