/** Tells of changes at most once every so many ms: the first at once, the rest together. */
export class Beats {
  private last = -Infinity
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    private readonly every: number,
    private readonly tell: () => void,
  ) {}

  ask(): void {
    if (this.timer !== undefined) return
    const wait = this.last + this.every - performance.now()
    if (wait <= 0) this.beat()
    else this.timer = setTimeout(() => this.beat(), wait)
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  private beat(): void {
    this.timer = undefined
    this.last = performance.now()
    this.tell()
  }
}
