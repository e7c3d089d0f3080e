import { hub } from '../stream/liveState.svelte'
import { readStored, store } from './stored'

/** When the person last used the page in this browser, and since when they were away, Unix ms by the hub's clock. */
const SEEN = 'hookback.seen'
const AWAY = 'hookback.away'
/** How long a person is away until the page reports what happened. */
export const AWAY_MS = 2 * 3_600_000
/** The last use is stored at most this often, ms. */
const STORE_MS = 30_000
const SIGNS = ['pointermove', 'pointerdown', 'keydown', 'visibilitychange'] as const

/** Knows when the person was away: the page was closed or not used for two hours. */
class Away {
  /** Since when; undefined: not away, or the report was closed. */
  since: number | undefined = $state()
  private stored = 0

  /** The person uses the page. */
  readonly used = (): void => {
    const now = hub.clock.now()
    if (!hub.loaded || document.hidden || Math.abs(now - this.stored) < STORE_MS) return
    this.stored = now
    const seen = Number(readStored(SEEN))
    if (seen > 0 && now - seen >= AWAY_MS) store(AWAY, seen)
    store(SEEN, now)
    this.since = Number(readStored(AWAY)) || undefined
  }

  listen(): () => void {
    for (const sign of SIGNS) document.addEventListener(sign, this.used, { passive: true })
    return () => {
      for (const sign of SIGNS) document.removeEventListener(sign, this.used)
    }
  }

  close(): void {
    this.since = undefined
    store(AWAY, undefined)
  }
}

export const away = new Away()
