import { ApiError, find, search } from '../../lib/api/api'
import { receivedAt, type Entry } from '../../lib/stream/eventView'
import { hub } from '../../lib/stream/liveState.svelte'
import { RingBuffer } from '../../lib/stream/ringBuffer'
import { boundsOf, searchHistory, type HistoryQuery } from './historySearch'
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
/** Rows of a filter that are loaded first: usually more than the minute of the chart has. */
const FIRST_PAGE = 1000
const CONTEXT_ROWS = 100
/** A filter is applied when typing pauses for this long, ms. */
const TYPING = 150
/** Time between two questions which new events match, ms, and the most matches of an answer. */
const LIVE_INTERVAL = 300
const LIVE_LIMIT = 1000
/** Time until a question that failed is asked again, and between two loads because of ratings, ms. */
const PAUSE = 5000
/** Whether matches depend on the ratings of calls, which follow their events. */
const usesRatings = /(^|\s)-?(risk|decided|outcome):/i

/**
 * The rows of the stream, and the history searches that extend them. The hub selects the events that match
 * a filter. The rows of the filter before stay until it has answered.
 */
export class StreamReader {
  readonly view = new StreamView(hub.events)
  /** Incremented when the view changes other than by new events. */
  changed = $state(0)
  /** Incremented when new events match the filter. */
  arrivals = $state(0)
  searchProgress: SearchProgress | undefined = $state.raw()
  /** The error of the last search; empty if there is none. */
  error = $state('')
  /** Why the hub refuses the filter; empty if it does not. */
  problem = $state('')
  /** The person canceled the search; it continues only on request. */
  canceled = $state(false)
  /** Called when rows were added before the first one. */
  onPrepend: (n: number) => void = () => undefined

  private filter = ''
  private range: TimeRange = {}
  /** The newest events that match the filter, from the id `since`; without a filter all that the page holds. */
  private matches = hub.events
  private since = 0
  /** The id up to which new events are among the matches; undefined before the first search. */
  private searched: number | undefined
  /** Whether the view still has the rows of the filter before. */
  private pending = false
  /** The state of the hub on which the matches depend, and when it was read, ms of this page's clock. */
  private basis = { history: 0, ratings: 0, at: 0 }
  private stop: AbortController | undefined
  private typing: ReturnType<typeof setTimeout> | undefined
  private asking: ReturnType<typeof setTimeout> | undefined
  /** The id up to which a detached view has been extended forward. */
  private ahead = 0

  setFilter(filter: string, range: TimeRange): void {
    this.close()
    this.filter = filter
    this.range = range
    this.error = this.problem = ''
    this.canceled = false
    this.matches = filter ? new RingBuffer(hub.events.capacity) : hub.events
    this.searched = undefined
    this.basis = { history: hub.replacements, ratings: hub.liveRatings, at: performance.now() }
    this.pending = true
    if (!filter || this.view.length === 0) this.showMatches()
    if (this.needsHistory()) this.typing = setTimeout(() => void this.loadOlder(), TYPING)
  }

  private showMatches(): void {
    if (!this.pending) return
    this.pending = false
    this.view.show(this.matches, this.range, hub.clock.now())
    this.changed++
    this.followLive() // what came during the search
  }

  private get isRated(): boolean {
    return !this.canceled && usesRatings.test(this.filter) && hub.liveRatings !== this.basis.ratings
  }

  /** Whether the matches have to be loaded again. */
  private get isOutdated(): boolean {
    if (hub.replacements !== this.basis.history) return true
    return this.isRated && !this.stop && performance.now() - this.basis.at >= PAUSE
  }

  /** Asks the hub soon which of the new events match the filter. */
  followLive(): void {
    if (!this.filter || this.pending || this.problem || this.searched === undefined) return
    this.asking ??= setTimeout(() => void this.askLive(), LIVE_INTERVAL)
  }

  private async askLive(): Promise<void> {
    const { matches, searched = 0, asking } = this
    if (this.isOutdated && !this.view.paused) return this.setFilter(this.filter, this.range)
    const newest = hub.events.last?.id ?? 0
    let wait = 0
    try {
      if (newest > searched) await this.askAfter(searched, newest, matches)
    } catch (error) {
      if (this.asking === asking && !(error instanceof ApiError)) this.asking = undefined
      if (!(error instanceof ApiError)) throw error
      wait = PAUSE
    }
    if (matches !== this.matches || asking !== this.asking) return // another filter, or the screen is closed
    this.asking = undefined
    if (wait > 0) this.asking = setTimeout(() => void this.askLive(), wait)
    else if (newest > (this.searched ?? newest) || (this.isRated && !this.view.paused)) this.followLive()
  }

  /** Adds the matches among the events after searched. The page has those up to the newest, joined to their calls. */
  private async askAfter(searched: number, newest: number, matches: RingBuffer<Entry>): Promise<void> {
    const bounds = boundsOf(this.range, hub.clock.now())
    const found = await search(this.filter, { ...bounds, after: searched, limit: LIVE_LIMIT })
    if (matches !== this.matches || searched !== this.searched) return
    for (const { id } of found.events) {
      const entry = id <= newest ? hub.events.find(id) : undefined
      if (entry) matches.push(entry)
    }
    this.searched = found.complete ? newest : Math.min(found.searchedTo, newest)
    this.arrivals++
  }

  /** Stops all work, such as when the screen is closed. */
  close(): void {
    clearTimeout(this.typing)
    clearTimeout(this.asking)
    this.asking = undefined
    this.stopSearch()
  }

  /** Loads what is missing, such as after an error that has passed. */
  retry(): void {
    this.error = ''
    if (this.needsHistory()) void this.loadOlder()
    clearTimeout(this.asking)
    this.asking = undefined
    this.followLive()
  }

  pause(): void {
    this.view.pause()
    this.changed++
  }

  follow(): void {
    if (this.view.detached) this.stopSearch()
    this.view.follow()
    this.changed++
    if (this.filter && this.isOutdated) return this.setFilter(this.filter, this.range)
    if (this.needsHistory()) void this.loadOlder()
    this.followLive()
  }

  /** Cancels the search and keeps its results. */
  cancel(): void {
    this.stopSearch()
    this.showMatches()
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

  /** Whether there are rows to load that the person has not asked for. */
  private needsHistory(): boolean {
    if (this.filter) return !this.canceled && (this.pending || this.view.reached === undefined)
    const oldest = hub.events.at(hub.events.start)
    return isLimited(this.range) && (!oldest || oldest.at > rangeStart(this.range, hub.clock.now()))
  }

  /** The id from which the matches have no gap. */
  private get oldestMatch(): number | undefined {
    return this.filter && this.matches.start === 0 ? this.since : this.matches.at(this.matches.start)?.id
  }

  /** Whether the rows are all matches among the events that the page holds. */
  get coversHeld(): boolean {
    const { complete, detached, reached = Infinity } = this.view
    return !detached && (!this.filter || complete || reached <= (hub.events.at(hub.events.start)?.id ?? 0))
  }

  private beginSearch(): void {
    if (this.searched !== undefined) return
    this.searched = hub.events.last?.id ?? 0
    this.since = this.searched + 1
  }

  /** Loads older rows until a page of matches is found. */
  async loadOlder(): Promise<void> {
    clearTimeout(this.typing)
    if (this.stop || !hub.loaded || !(this.pending || this.hasMore)) return
    this.beginSearch()
    const reached = this.pending ? undefined : this.view.reached
    const first = this.pending ? undefined : this.view.at(0)?.id
    const than = reached ?? Math.min(first ?? Infinity, this.oldestMatch ?? Infinity)
    if (!Number.isFinite(than)) return
    const want = this.filter && reached === undefined ? FIRST_PAGE : PAGE
    await this.runSearch('back', than, want, (entries, reached, complete) => {
      this.showMatches()
      const had = this.view.length
      this.view.prepend(entries, reached, complete)
      this.changed++
      if (had > 0) this.onPrepend(this.view.length - had)
    })
  }

  /** Extends a detached view toward the present. */
  async loadNewer(): Promise<void> {
    if (this.stop || this.pending || !this.view.detached) return
    await this.runSearch('on', this.ahead, PAGE, (entries, reached, complete) => {
      this.ahead = reached
      this.view.append(entries)
      if (complete || this.reachesBuffer(reached)) this.view.rejoinLive()
      this.changed++
    })
  }

  /** Whether a search up to this id has reached the matches without a gap. */
  private reachesBuffer(reached: number): boolean {
    return this.oldestMatch !== undefined && reached >= this.oldestMatch - 1
  }

  /**
   * Shows the matches around an event that is not among the rows. Returns whether they
   * could be loaded.
   */
  async goTo(id: number): Promise<boolean> {
    clearTimeout(this.typing)
    this.stopSearch()
    this.beginSearch()
    this.showMatches()
    const { matches } = this
    const before: Entry[] = []
    const after: Entry[] = []
    let [reached, complete, done] = [id, false, false]
    const found = await this.runSearch('back', id + 1, CONTEXT_ROWS, (entries, to, all) => {
      before.unshift(...entries)
      ;[reached, complete] = [to, all]
    })
    if (!found) return false
    this.ahead = id
    await this.runSearch('on', id, CONTEXT_ROWS, (entries, to, all) => {
      after.push(...entries)
      this.ahead = to
      done = all || this.reachesBuffer(to)
    })
    if (matches !== this.matches) return false
    this.view.showRange([...before, ...after])
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
    const ask = {
      filter: this.filter,
      range: this.range,
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
        const entries = step.entries.map((entry) => hub.events.find(entry.id) ?? entry)
        for (const entry of entries.toReversed())
          if (entry !== hub.events.find(entry.id)) hub.callPairs.add(entry)
        const [first, last] = [entries[0], entries.at(-1)]
        if (first && last) void hub.loadRatings({ first: first.id, last: last.id })
        take(entries, step.reached, step.complete)
        this.progress(entries, step.reached)
      }
    } catch (error) {
      if (stop.signal.aborted) return false
      if (error instanceof ApiError && error.problem.field === 'filter') this.problem = error.message
      else {
        this.showMatches()
        this.error = error instanceof Error ? error.message : String(error)
      }
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
