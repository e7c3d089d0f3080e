import { untrack } from 'svelte'
import { SvelteMap } from 'svelte/reactivity'
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
  /** The edges of texts that the page shows, with the requests that they belong to. */
  private readonly edges = new SvelteMap<Element, { ids: readonly number[]; seen: boolean }>()
  private readonly watch = new IntersectionObserver(
    (hits) =>
      untrack(() => {
        for (const { isIntersecting, target } of hits) {
          const edge = this.edges.get(target)
          if (edge && isIntersecting) this.edges.set(target, { ...edge, seen: true })
        }
      }),
    { threshold: 1 },
  )
  readonly chosen = $derived.by(() => this.seen.filter((r) => !this.out[r.id] && !this.stale(r)))
  /** The chosen requests without an edge, or with one that was not on screen. None of them is approved. */
  readonly unseen = $derived.by(() => {
    const edges = [...this.edges.values()]
    const hidden = new Set(edges.filter((e) => !e.seen).flatMap((e) => e.ids))
    const shown = new Set(edges.flatMap((e) => e.ids))
    return this.chosen.filter((r) => hidden.has(r.id) || !shown.has(r.id))
  })

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

  /**
   * Marks the first or the last line of a text of requests. It is removed while the text is not complete,
   * and with it what was seen.
   */
  edge =
    (...ids: number[]) =>
    (node: HTMLElement) => {
      untrack(() => this.edges.set(node, { ids, seen: false }))
      this.watch.observe(node)
      return () => {
        this.watch.unobserve(node)
        this.edges.delete(node)
      }
    }

  /** Scrolls the frame to the first text that was not on screen, or one screen on if it is here. */
  showNext(frame: HTMLElement): void {
    const id = this.unseen[0]?.id
    if (id === undefined) return
    const edge = [...this.edges].find(([, e]) => !e.seen && e.ids.includes(id))
    const text = edge?.[0].parentElement ?? frame.querySelector(`[data-id="${id}"]`)
    if (!text) return
    const box = text.getBoundingClientRect()
    const start = frame.getBoundingClientRect().top
    // Frames scroll by whole pixels.
    const isElsewhere = box.top > start + 16 || box.bottom < start
    frame.scrollBy({ top: isElsewhere ? box.top - start - 8 : frame.clientHeight * 0.9 })
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
