import { ApiError, get, post, problemOf, remove } from '../../lib/api/api'
import type { Freeze, FreezeList } from '../../lib/api/schema'
import type { Problem } from '../../lib/api/types'
import { hub, live } from '../../lib/stream/liveState.svelte'
import { freezeBarText } from './text'

type Counts = Omit<FreezeList, 'freezes'>
interface Failure {
  title: string
  problem: Problem
}

/** What the page does about freezes. The active ones are part of the hub's state. */
class Freezes {
  /** The activity of the frozen agents; undefined until loaded. */
  counts: Counts | undefined = $state.raw()
  private refused: (Failure & { isPast: () => boolean }) | undefined = $state.raw()
  busy = $state(false)

  /** Why the last change failed, until it is made elsewhere. A new connection has not frozen anything. */
  get failure(): Failure | undefined {
    return this.refused?.isPast() ? undefined : this.refused
  }

  dismiss(): void {
    this.refused = undefined
  }

  /** Freezes all agents. */
  freezeAll(): Promise<boolean> {
    const isPast = () => live.freezes.some((f) => f.scope === 'all')
    return this.change({ title: freezeBarText.notFrozen, isPast }, async () => {
      const made = await post('/api/freezes', { scope: 'all' })
      if (!hub.freezes.some((f) => f.id === made.id)) hub.setFreezes([...hub.freezes, made])
    })
  }

  /** Lifts a freeze; one that another person has just lifted counts as lifted. */
  resume(id: number): Promise<boolean> {
    const isPast = () => !live.freezes.some((f) => f.id === id)
    return this.change({ title: freezeBarText.notResumed, isPast }, async () => {
      await remove('/api/freezes/:id', { id }).catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.problem.status !== 404) throw error
      })
      hub.setFreezes(hub.freezes.filter((f) => f.id !== id))
    })
  }

  private async change(
    what: { title: string; isPast: () => boolean },
    run: () => Promise<void>,
  ): Promise<boolean> {
    if (this.busy) return false
    this.busy = true
    this.refused = undefined
    try {
      await run()
      return true
    } catch (error) {
      this.refused = { ...what, problem: problemOf(error) }
      return false
    } finally {
      this.busy = false
    }
  }

  /**
   * Loads the counts. The freezes of the answer are taken, too, unless newer ones arrived in the
   * meantime: a hub that restarted without a freeze sends none.
   */
  async load(): Promise<void> {
    const before = hub.freezes
    const list = await get('/api/freezes').catch(() => undefined) // the counts are optional
    if (!list) return
    const { freezes, ...counts } = list
    this.counts = counts
    if (hub.freezes === before && key(freezes) !== key(before)) hub.setFreezes(freezes)
  }
}

const key = (freezes: readonly { id: number }[]) => freezes.map((f) => f.id).join()

export const freezes = new Freezes()

/** The counts as one line. */
export function countsText({ stopped, finishing, uncontrolled, unchecked }: Counts): string {
  const { counts } = freezeBarText
  const parts = [
    stopped > 0 && counts.stopped(stopped),
    finishing > 0 && counts.finishing(finishing),
    uncontrolled > 0 && counts.uncontrolled(uncontrolled),
    unchecked > 0 && counts.unchecked(unchecked),
  ]
  return parts.filter(Boolean).join(' · ') || counts.none
}

/** What is frozen as one sentence, and by whom if people froze all of it. */
export function frozenText(active: readonly Freeze[]): string {
  const { frozen } = freezeBarText
  const byOf = (of: readonly Freeze[]) =>
    frozen.by(of.every((f) => f.by) ? [...new Set(of.flatMap((f) => f.by ?? []))] : [])
  const all = active.filter((f) => f.scope === 'all')
  if (all.length > 0) return frozen.all + byOf(all)
  const apps = [...new Set(active.map((f) => f.source_app ?? ''))]
  const subjects = apps.map((app) => {
    const own = active.filter((f) => f.source_app === app)
    return own.some((f) => f.scope === 'app') ? frozen.app(app) : frozen.sessions(own.length, app)
  })
  const isOne = active.length === 1 && active[0]?.scope === 'session'
  return frozen.sentence(subjects.join(', '), isOne) + byOf(active)
}
