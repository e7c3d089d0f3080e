import { SvelteSet } from 'svelte/reactivity'
import { MAX_APPROVALS } from '../../lib/api/types'
import { freezeOf } from '../../lib/stream/freezes'
import { hub, live, shortcuts } from '../../lib/stream/liveState.svelte'
import { isWhole, requestTitle, type Request } from '../../lib/stream/requests'
import { bulkResult, selection } from './selection.svelte'
import { bulkBlocker } from './view'
import { inboxText } from './text'
import { lazyInboxText } from './lazyText'

/** Undo window of a bulk approval, ms. */
const HOLD = 5000

/**
 * Requests that a person reviews to approve them together. Only calls that were on screen, at the
 * revision that was shown, are approved; a request that changes later is marked and excluded.
 */
export class BulkReview {
  readonly seen: Request[]
  /** The requests that can't be approved here. */
  readonly others: Request[]
  /** The requests that the person leaves out. */
  readonly out: Record<number, boolean> = $state({})
  /** The requests whose end was on screen. No other is approved. */
  private readonly shown = new SvelteSet<number>()
  private readonly watch = new IntersectionObserver((hits) => {
    for (const { isIntersecting, target } of hits)
      if (isIntersecting) this.shown.add(Number((target as HTMLElement).dataset.end))
  })
  readonly chosen = $derived.by(() => this.seen.filter((r) => !this.out[r.id] && !this.stale(r)))
  readonly unseen = $derived.by(() => this.chosen.filter((r) => !this.shown.has(r.id)))

  constructor(requests: readonly Request[]) {
    this.seen = requests.filter((r) => !this.excludedBecause(r)).slice(0, MAX_APPROVALS)
    this.others = requests.filter((r) => !this.seen.includes(r))
  }

  excludedBecause = (r: Request): string | undefined =>
    bulkBlocker(r, live.freezes) ?? (isWhole(r.event) ? undefined : inboxText.bulk.blockers.notLoaded)

  /** Why a request is not approved although it was reviewed. */
  stale = (r: Request): string | undefined => {
    const now = live.request(r.id)
    if (now && freezeOf(live.freezes, now.event)) return inboxText.bulk.blockers.frozen
    if (!now || bulkBlocker(now)) return lazyInboxText.bulk.answeredFirst
    return now.status.revision === r.status.revision ? undefined : lazyInboxText.bulk.changed
  }

  /** Marks the end of a request. It is removed while the call is not complete, and with it what was seen. */
  end = (id: number) => (node: HTMLElement) => {
    node.dataset.end = String(id)
    this.watch.observe(node)
    return () => {
      this.watch.unobserve(node)
      this.shown.delete(id)
    }
  }

  /** Approves what is chosen, unless some of it was not on screen. */
  approve(): void {
    if (this.unseen.length > 0 || this.chosen.length === 0) return
    const approved = this.chosen
    selection.clear()
    bulkResult.refused = []
    shortcuts.startGrace()
    void hub.approve(approved, HOLD).then((refused) => {
      bulkResult.refused = refused.map((r) => ({
        id: r.id,
        title: requestTitle(r),
        why: r.problem?.detail ?? r.problem?.title ?? lazyInboxText.bulk.answeredFirst,
      }))
    })
  }
}
