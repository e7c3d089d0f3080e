import { describe, expect, it } from 'vitest'
import type { SearchRange } from '../../lib/api/api'
import { anEvent } from '../../testing/factories'
import type { SearchResult } from '../../lib/api/types'
import { searchHistory, type HistoryQuery, type Step } from './historySearch'

/** A fake hub with these answers; asked records its queries. */
function hubWith(...answers: [ids: number[], searchedTo: number, complete?: boolean][]) {
  const asked: (SearchRange & { filter: string })[] = []
  const search = async (filter: string, what: SearchRange = {}): Promise<SearchResult> => {
    const [ids, searchedTo, complete = false] = answers[asked.push({ filter, ...what }) - 1] ?? [[], 0, true]
    return { events: ids.map((id) => anEvent(id)), searchedTo, complete }
  }
  return { asked, calls: { search } }
}

async function all(hub: ReturnType<typeof hubWith>, more: Partial<HistoryQuery> = {}) {
  const ask: HistoryQuery = {
    filter: 'x',
    range: {},
    direction: 'back',
    from: 100,
    want: 3,
    now: 10_000,
    signal: new AbortController().signal,
    ...more,
  }
  const steps: Step[] = []
  for await (const step of searchHistory(ask, hub.calls)) steps.push(step)
  return steps.map((s) => [s.entries.map((e) => e.id), s.reached, s.complete])
}

describe('History search', () => {
  it('continues across batches without matches until it has enough', async () => {
    const hub = hubWith([[90], 80], [[], 60], [[50, 51], 50], [[1], 1])
    expect(await all(hub)).toEqual([
      [[90], 80, false],
      [[], 60, false],
      [[50, 51], 50, false],
    ])
    expect(hub.asked.map((a) => a.before)).toEqual([100, 80, 60])
    // A step is short when the hub was busy. The next one asks for the rest only.
    expect(hub.asked.map((a) => a.limit)).toEqual([3, 2, 2])
  })

  it('ends with the history', async () => {
    expect(await all(hubWith([[90], 1, true], [[80], 1]))).toEqual([[[90], 1, true]])
  })

  it('stops if the hub makes no progress', async () => {
    expect(await all(hubWith([[], 100], [[], 100]))).toEqual([[[], 100, true]])
  })

  it('searches forward, too', async () => {
    const hub = hubWith([[], 150], [[160], 160, true])
    expect(await all(hub, { direction: 'on' })).toHaveLength(2)
    expect(hub.asked.map((a) => [a.before, a.after])).toEqual([
      [undefined, 100],
      [undefined, 150],
    ])
  })

  it('stays within the range', async () => {
    const hub = hubWith([[], 1, true], [[], 1, true])
    await all(hub, { range: { since: 1000 } })
    expect(hub.asked[0]).toMatchObject({ filter: 'x', from: 9000 })
    const other = hubWith([[], 1, true])
    await all(other, { range: { from: 5, to: 7 } })
    expect(other.asked[0]).toMatchObject({ from: 5, to: 7 })
  })

  it('stops when canceled, without further results', async () => {
    const stop = new AbortController()
    const hub = hubWith([[90], 80])
    const search = async (filter: string, what?: SearchRange) => {
      stop.abort()
      return hub.calls.search(filter, what)
    }
    expect(await all({ ...hub, calls: { search } }, { signal: stop.signal })).toEqual([])
  })
})
