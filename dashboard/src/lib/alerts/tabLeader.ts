/**
 * Elects one tab of this browser as the leader, with a Web Lock. Only the leader shows
 * notifications and plays sounds. The most recently focused tab leads, so the leader
 * knows whether the user is looking at the dashboard.
 *
 * Web Locks exist in secure contexts only. Without them every tab leads, and SeenAlerts
 * deduplicates their alerts.
 */
export class TabLeader {
  isLeader = false
  private stopped = false
  private release: () => void = () => undefined

  constructor(
    private readonly locks: LockManager | undefined = navigator.locks,
    private readonly name = 'hookback.leader',
  ) {}

  /** Joins the election. Returns a function that leaves it. */
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
    const onAcquired = () =>
      new Promise<void>((done) => {
        if (this.stopped) return done()
        this.isLeader = true
        this.release = done
      })
    this.locks.request(this.name, steal ? { steal } : {}, onAcquired).catch(() => {
      // Another tab stole the lock. Queue for it again.
      this.isLeader = false
      if (!this.stopped) this.requestLock(false)
    })
  }
}
