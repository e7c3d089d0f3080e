/**
 * Leads among the tabs of this browser: of all that show this page, one shows
 * notifications and makes sounds. That is the tab the person last looked at, so
 * the leader knows whether anybody looks.
 *
 * Browsers offer locks in secure contexts only. Without them every tab leads, and
 * Told keeps two of them from telling the same.
 */
export class TabLeader {
  isLeader = false
  private stopped = false
  private release: () => void = () => undefined

  constructor(
    private readonly locks: LockManager | undefined = navigator.locks,
    private readonly name = 'hookback.leader',
  ) {}

  /** Starts to stand for it; returns how to stop. */
  start(target: Window = window): () => void {
    const focus = () => {
      if (!this.isLeader) this.requestLock(true)
    }
    target.addEventListener('focus', focus)
    this.requestLock(document.hasFocus())
    return () => {
      target.removeEventListener('focus', focus)
      this.stopped = true
      this.isLeader = false
      this.release()
    }
  }

  private requestLock(steal: boolean): void {
    if (!this.locks) {
      this.isLeader = true
      return
    }
    const held = () =>
      new Promise<void>((done) => {
        if (this.stopped) return done()
        this.isLeader = true
        this.release = done
      })
    this.locks.request(this.name, steal ? { steal } : {}, held).catch(() => {
      // Another tab took over: in line again, for when it goes.
      this.isLeader = false
      if (!this.stopped) this.requestLock(false)
    })
  }
}
