/** Calls back at most once per interval: immediately for the first change, then for all changes together. */
export class Throttle {
  private lastFired = -Infinity
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly interval: number,
    private readonly callback: () => void,
  ) {}

  trigger(): void {
    if (this.timer !== undefined) return
    const wait = this.lastFired + this.interval - performance.now()
    if (wait <= 0) this.fire()
    else this.timer = setTimeout(() => this.fire(), wait)
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private fire(): void {
    this.timer = undefined
    this.lastFired = performance.now()
    this.callback()
  }
}
