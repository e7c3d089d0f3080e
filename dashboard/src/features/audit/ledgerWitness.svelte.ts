import { get } from '../../lib/api/api'
import { detectRewrite, forgetLastSeen, loadLastSeen, saveLastSeen, type LastSeenEntry } from './hashChain'

/** A stored entry that the hub no longer has in this form. */
export interface Rewrite {
  seen: LastSeenEntry
  /** A sentence on what differs. */
  detail: string
}

/** The calls to the hub. */
const hubCalls = {
  ledger: (page: { after?: number; limit: number }) => get('/api/ledger', page),
  hubKey: () => get('/api/hub'),
}

/**
 * Stores the newest entry of a hub's audit log in this browser, and compares the log with it on
 * later visits. The hub's machine cannot change this storage.
 */
export class LedgerWitness {
  /** The difference that the last check found; undefined if there is none. */
  rewrite: Rewrite | undefined = $state.raw()
  /** The stored entry from before this page was loaded; undefined if there was none. */
  previous: LastSeenEntry | undefined = $state.raw()
  private hub = ''
  /** Replaces the storage in a browser that keeps none. */
  private newest: LastSeenEntry | undefined
  private running: Promise<void> | undefined

  constructor(
    private readonly calls: typeof hubCalls = hubCalls,
    private readonly now: () => number = Date.now,
  ) {}

  /**
   * Compares the audit log of the connected hub with the stored entry, and stores its newest one if
   * they agree. Each hub has a separate entry. Rejects with an ApiError if the log can't be read.
   */
  check(hub: string): Promise<void> {
    if (hub !== this.hub) {
      this.hub = hub
      this.rewrite = this.newest = this.running = undefined
      this.previous = loadLastSeen(hub)
    }
    if (this.running) return this.running
    const run = this.compare(hub).finally(() => {
      if (this.running === run) this.running = undefined
    })
    this.running = run
    return run
  }

  /** Replaces the stored entry by the newest one of the current log. */
  async forget(): Promise<void> {
    const { hub } = this
    await this.running?.catch(() => undefined) // it would find the old entry again
    if (hub !== this.hub) return
    forgetLastSeen(hub)
    this.rewrite = this.previous = this.newest = undefined
    await this.check(hub)
  }

  private async compare(hub: string): Promise<void> {
    const seen = loadLastSeen(hub) ?? this.newest
    const [newest] = await this.calls.ledger({ limit: 1 })
    let detail: string | undefined
    if (seen) {
      const grown = newest && newest.n > seen.n
      const [found] = grown ? await this.calls.ledger({ after: seen.n - 1, limit: 1 }) : [newest]
      detail = detectRewrite(seen, found, newest)
      // Another hub may have taken over the address since the page connected: its log always differs.
      if (detail && (await this.calls.hubKey()).hubId !== hub) return
    }
    if (hub !== this.hub) return
    this.rewrite = seen && detail ? { seen, detail } : undefined
    if (detail || !newest) return
    this.newest = { hub, n: newest.n, hash: newest.hash, at: this.now() }
    saveLastSeen(this.newest)
  }
}

export const witness = new LedgerWitness()
