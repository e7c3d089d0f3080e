import { find, search } from '../../lib/api/api'
import { receivedAt, type Entry } from '../../lib/stream/eventView'
import { runWhenIdle } from '../../lib/page/idleCallback'
import { usesTranscripts, type Filter } from '../../lib/stream/filter'
import { hub } from '../../lib/stream/liveState.svelte'
import { searchHistory, type HistoryQuery } from './historySearch'
import { rangeStart, isLimited, type TimeRange } from './timeRange'
import { StreamView } from './view'

/** The progress of a running search. */
export interface SearchProgress {
  direction: HistoryQuery['direction']
  found: number
  /** The time it has reached, Unix ms; undefined until known. */
  at?: number
}

const PAGE = 200
const CONTEXT_ROWS = 100
/** Script time of a filter change before its first rows are drawn, and of each later slice, ms. */
const SLICE = 2

/** Returns a function that returns true until the slice is over. */
function withinSlice(): () => boolean {
  const until = performance.now() + SLICE
  return () => performance.now() < until
}

/** The rows of the stream, and the history searches that extend them. */
export class StreamReader {
  readonly view = new StreamView(hub.events)
  /** Incremented when the view changes other than by new events. */
  changed = $state(0)
  searchProgress: SearchProgress | undefined = $state.raw()
  /** The error of the last search; empty if there is none. */
  error = $state('')
  /** The person canceled the search; it continues only on request. */
  canceled = $state(false)
  /** Called when rows were added before the first one. */
  onPrepend: (n: number) => void = () => undefined

  private stopScan = () => {}
  private stop: AbortController | undefined
  /** The id up to which a detached view has been extended forward. */
  private ahead = 0

  setFilter(filter: Filter, range: TimeRange): void {
    this.stopSearch()
    this.error = ''
    this.canceled = false
    this.view.setFilter(filter, range, hub.clock.now(), withinSlice())
    this.changed++
    this.scanRest()
  }

  /** Reads the other held events for the filter in short slices, so that input is not delayed. */
  private scanRest(): void {
    this.stopScan()
    if (!this.view.scanning) return
    this.stopScan = runWhenIdle(() => {
      const added = this.view.scan(hub.clock.now(), withinSlice())
      if (added > 0 || !this.view.scanning) this.changed++
      if (added > 0) this.onPrepend(added)
      this.scanRest()
    })
  }

  /** Reads them immediately, such as to find a row. */
  finishScan(): void {
    this.stopScan()
    const added = this.view.scan(hub.clock.now())
    this.changed++
    if (added > 0) this.onPrepend(added)
  }

  /** Stops all work, when the screen is closed. */
  close(): void {
    this.stopScan()
    this.stopSearch()
  }

  pause(): void {
    this.view.pause()
    this.changed++
  }

  follow(): void {
    if (this.view.detached) this.stopSearch()
    this.view.follow()
    this.changed++
  }

  /** Cancels the search and keeps its results. */
  cancel(): void {
    this.stopSearch()
    this.canceled = true
  }

  /** Stops the search and drops its further results. */
  stopSearch(): void {
    this.stop?.abort()
    this.stop = undefined
    this.searchProgress = undefined
  }

  /** Whether there may be older rows. */
  get hasMore(): boolean {
    return !this.view.complete && !this.view.full
  }

  /** Whether the range starts before the held events. */
  needsHistory(): boolean {
    if (usesTranscripts(this.view.filter)) return true
    const oldest = hub.events.at(hub.events.start)
    return isLimited(this.view.range) && (!oldest || oldest.at > rangeStart(this.view.range, hub.clock.now()))
  }

  /** Loads older rows until a page of matches is found. */
  async loadOlder(want = PAGE): Promise<void> {
    const held = usesTranscripts(this.view.filter)
      ? (hub.events.at(hub.events.end - 1)?.id ?? 0) + 1
      : hub.events.at(hub.events.start)?.id
    const than = this.view.reached ?? Math.min(this.view.at(0)?.id ?? Infinity, held ?? Infinity)
    if (this.stop || !this.hasMore || !Number.isFinite(than)) return
    await this.runSearch('back', than, want, (entries, reached, complete) => {
      const had = this.view.length
      for (const entry of entries.toReversed()) hub.callPairs.add(entry)
      this.view.prepend(entries, reached, complete)
      this.changed++
      this.onPrepend(this.view.length - had)
    })
  }

  /** Extends a detached view toward the present. */
  async loadNewer(): Promise<void> {
    if (this.stop || !this.view.detached) return
    await this.runSearch('on', this.ahead, PAGE, (entries, reached, complete) => {
      this.ahead = reached
      for (const entry of entries) hub.callPairs.add(entry)
      this.view.append(entries)
      if (complete || this.reachesBuffer(reached)) this.view.rejoinLive()
      this.changed++
    })
  }

  /** Whether a search up to this id has reached the held events. */
  private reachesBuffer(reached: number): boolean {
    const oldest = hub.events.at(hub.events.start)
    return oldest !== undefined && reached >= oldest.id - 1
  }

  /**
   * Shows the matches around an event that is not among the rows. Returns whether they
   * could be loaded.
   */
  async goTo(id: number): Promise<boolean> {
    this.stopSearch()
    const before: Entry[] = []
    const after: Entry[] = []
    let [reached, complete, done] = [id, false, false]
    const found = await this.runSearch('back', id + 1, CONTEXT_ROWS, (entries, to, all) => {
      before.unshift(...entries)
      ;[reached, complete] = [to, all]
    })
    if (!found) return false
    await this.runSearch('on', id, CONTEXT_ROWS, (entries, to, all) => {
      after.push(...entries)
      this.ahead = to
      done = all || this.reachesBuffer(to)
    })
    const all = [...before, ...after]
    for (const entry of all) hub.callPairs.add(entry)
    this.view.showRange(all)
    this.view.prepend([], reached, complete)
    if (done) this.view.rejoinLive()
    this.changed++
    return true
  }

  /** Runs one search. Returns false if it was canceled or failed. */
  private async runSearch(
    direction: HistoryQuery['direction'],
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
      from: than,
      want,
      now: hub.clock.now(),
      signal: stop.signal,
    }
    this.searchProgress = { direction, found: 0 }
    this.error = ''
    this.canceled = false
    try {
      for await (const step of searchHistory(ask, { search })) {
        if (stop.signal.aborted) return false
        const [first, last] = [step.entries[0], step.entries.at(-1)]
        if (first && last) void hub.loadRatings({ first: first.id, last: last.id })
        take(step.entries, step.reached, step.complete)
        this.progress(step.entries, step.reached)
      }
    } catch (error) {
      if (!stop.signal.aborted) this.error = error instanceof Error ? error.message : String(error)
      return false
    } finally {
      if (this.stop === stop) this.stop = this.searchProgress = undefined
    }
    return !stop.signal.aborted
  }

  private progress(entries: Entry[], reached: number): void {
    const seeking = this.searchProgress
    if (!seeking) return
    const edge = seeking.direction === 'back' ? entries[0] : entries.at(-1)
    this.searchProgress = { ...seeking, found: seeking.found + entries.length, at: edge?.at ?? seeking.at }
    if (edge) return
    // No match carries a time, so the reached event itself is fetched for it.
    const stop = this.stop
    void find({ before: reached + 1, limit: 1 }).then(
      ([event]) => {
        if (event && stop === this.stop && this.searchProgress)
          this.searchProgress = { ...this.searchProgress, at: receivedAt(event) }
      },
      () => undefined, // only the progress is missing
    )
  }
}
