import * as api from '../api'
import { arrived, type Entry } from '../events'
import type { Filter } from '../filter'
import { hub } from '../live.svelte'
import { searchHistory, type Ask } from './history'
import { beginOf, isLimited, type Range } from './range'
import { StreamView } from './view'

/** A search that is under way. */
export interface Seeking {
  direction: Ask['direction']
  found: number
  /** How far it has come, Unix ms; undefined: not known yet. */
  at?: number
}

const PAGE = 200
const BESIDE = 100

/** The rows of the stream and the searches that bring more of them. */
export class Reader {
  readonly view = new StreamView(hub.events)
  /** Grows when the view changed by other than what the ring got. */
  changed = $state(0)
  seeking: Seeking | undefined = $state.raw()
  /** Why the last search ended before its time, in words. */
  trouble = $state('')
  /** The person called the search off: it goes on only when asked to. */
  calledOff = $state(false)
  /** Rows were put before the first one. */
  onPrepend: (n: number) => void = () => undefined

  private stop: AbortController | undefined
  /** How far on from a stretch of the past has been searched. */
  private ahead = 0

  setFilter(filter: Filter, range: Range): void {
    this.end()
    this.trouble = ''
    this.calledOff = false
    this.view.setFilter(filter, range, hub.clock.now())
    this.changed++
  }

  pause(): void {
    this.view.pause()
    this.changed++
  }

  follow(): void {
    if (this.view.detached) this.end()
    this.view.follow()
    this.changed++
  }

  /** Calls a search off; what it found stays. */
  cancel(): void {
    this.end()
    this.calledOff = true
  }

  /** Ends a search without a word, such as when the screen goes. */
  end(): void {
    this.stop?.abort()
    this.stop = undefined
    this.seeking = undefined
  }

  /** Whether there may be rows before the first one. */
  get more(): boolean {
    return !this.view.complete && !this.view.full
  }

  /** Whether the range begins before what the page holds. */
  reachesBack(): boolean {
    const oldest = hub.events.at(hub.events.start)
    return isLimited(this.view.range) && (!oldest || oldest.at > beginOf(this.view.range, hub.clock.now()))
  }

  /** Looks further back until a page of rows is found. */
  async back(want = PAGE): Promise<void> {
    const held = hub.events.at(hub.events.start)?.id
    const than = this.view.reached ?? Math.min(this.view.at(0)?.id ?? Infinity, held ?? Infinity)
    if (this.stop || !this.more || !Number.isFinite(than)) return
    await this.run('back', than, want, (entries, reached, complete) => {
      const had = this.view.length
      for (const entry of entries.toReversed()) hub.pairs.see(entry)
      this.view.prepend(entries, reached, complete)
      this.changed++
      this.onPrepend(this.view.length - had)
    })
  }

  /** Goes on from a stretch of the past towards the present. */
  async on(): Promise<void> {
    if (this.stop || !this.view.detached) return
    await this.run('on', this.ahead, PAGE, (entries, reached, complete) => {
      this.ahead = reached
      for (const entry of entries) hub.pairs.see(entry)
      this.view.append(entries)
      if (complete || this.meets(reached)) this.view.join()
      this.changed++
    })
  }

  /** Whether what has been searched up to an id meets what the page holds. */
  private meets(reached: number): boolean {
    const oldest = hub.events.at(hub.events.start)
    return oldest !== undefined && reached >= oldest.id - 1
  }

  /**
   * Shows the surroundings of an event that is not among the rows: what fits before
   * and after it. Returns whether they could be had.
   */
  async goTo(id: number): Promise<boolean> {
    this.end()
    const before: Entry[] = []
    const after: Entry[] = []
    let [reached, complete, done] = [id, false, false]
    const found = await this.run('back', id + 1, BESIDE, (entries, to, all) => {
      before.unshift(...entries)
      ;[reached, complete] = [to, all]
    })
    if (!found) return false
    await this.run('on', id, BESIDE, (entries, to, all) => {
      after.push(...entries)
      this.ahead = to
      done = all || this.meets(to)
    })
    const all = [...before, ...after]
    for (const entry of all) hub.pairs.see(entry)
    this.view.around(all)
    this.view.prepend([], reached, complete)
    if (done) this.view.join()
    this.changed++
    return true
  }

  /** Runs one search; false when it was called off or failed. */
  private async run(
    direction: Ask['direction'],
    than: number,
    want: number,
    take: (entries: Entry[], reached: number, complete: boolean) => void,
  ): Promise<boolean> {
    const stop = (this.stop = new AbortController())
    const { filter, range } = this.view
    const ask = {
      filter: filter.text,
      range,
      direction,
      than,
      want,
      now: hub.clock.now(),
      signal: stop.signal,
    }
    this.seeking = { direction, found: 0 }
    this.trouble = ''
    this.calledOff = false
    try {
      for await (const step of searchHistory(ask, api)) {
        if (stop.signal.aborted) return false
        take(step.entries, step.reached, step.complete)
        this.progress(step.entries, step.reached)
      }
    } catch (error) {
      if (!stop.signal.aborted) this.trouble = error instanceof Error ? error.message : String(error)
      return false
    } finally {
      if (this.stop === stop) this.stop = this.seeking = undefined
    }
    return !stop.signal.aborted
  }

  private progress(entries: Entry[], reached: number): void {
    const seeking = this.seeking
    if (!seeking) return
    const edge = seeking.direction === 'back' ? entries[0] : entries.at(-1)
    this.seeking = { ...seeking, found: seeking.found + entries.length, at: edge?.at ?? seeking.at }
    if (edge) return
    // Nothing fits there, so nothing says when that was: the event itself does.
    const stop = this.stop
    void api.find({ before: reached + 1, limit: 1 }).then(
      ([event]) => {
        if (event && stop === this.stop && this.seeking)
          this.seeking = { ...this.seeking, at: arrived(event) }
      },
      () => undefined, // it is only told how far
    )
  }
}
