import { describe, expect, it } from 'vitest'
import { groupRequests, toRequest, type Request } from '../../lib/stream/requests'
import { aRequest } from '../../testing/factories'
import type { HumanInTheLoop, Status } from '../../lib/api/types'
import { bulkBlocker, inGroups, matchesView, visibleOrder, filterLists, parseView } from './view'

const asked = (id: number, question: Partial<HumanInTheLoop> = {}, status: Partial<Status> = {}) =>
  toRequest(aRequest(id, question, status)) as Request
const view = (query: string) => parseView(new URLSearchParams(query))

describe('bulkBlocker', () => {
  it.each<[string, Request, RegExp | undefined]>([
    ['a permission', asked(1), undefined],
    ['a medium risk', asked(1, {}, { risk: 'medium' }), undefined],
    ['a high risk assessed by the hub', asked(1, { risk: 'low' }, { risk: 'high' }), /one at a time/],
    ['a critical risk set by the agent', asked(1, { risk: 'critical' }), /one at a time/],
    ['a question', asked(1, { type: 'question' }), /Only permissions/],
    ['a required reason', asked(1, { reasonRequired: 'always' }), /reason/],
    ['several required votes', asked(1, {}, { requiredApprovals: 2 }), /votes/],
    ['a settled request', asked(1, {}, { status: 'responded' }), /settled/],
    ['an agent that is gone', asked(1, {}, { waiter: 'lost' }), /gone/],
    ['an answer in its undo window', asked(1, {}, { held: { until: 1, outcome: 'approve' } }), /settled/],
    ['a submitted answer', { ...asked(1), submission: { since: 1 } }, /settled/],
  ])('%s', (_, request, why) => {
    if (why) expect(bulkBlocker(request)).toMatch(why)
    else expect(bulkBlocker(request)).toBeUndefined()
  })
})

describe('inGroups', () => {
  const from = (id: number, source_app: string, session_id: string): Request => {
    const request = asked(id)
    return { ...request, event: { ...request.event, source_app, session_id } }
  }
  const list = [from(1, 'web', 'a'), from(2, 'infra', 'a'), from(3, 'web', 'b'), from(4, 'web', 'a')]

  it.each([
    ['none', [1, 2, 3, 4]],
    ['agent', [1, 3, 4, 2]],
    ['session', [1, 4, 2, 3]], // sessions of two agents may have the same name
  ] as const)('moves each group to the place of its first request: %s', (by, ids) =>
    expect(inGroups(list, by).map((r) => r.id)).toEqual(ids),
  )

  it('reads the choice from the URL', () => {
    expect(view('group=session').group).toBe('session')
    expect(view('group=constructor').group).toBe('none')
  })
})

describe('Request lists', () => {
  const deploy = asked(1, {
    question: 'Deploy it',
    toolCall: { name: 'Bash', arguments: { command: 'make ship' } },
  })
  const name = asked(2, { type: 'question', question: 'Name?' }, { risk: 'high' })

  it('are filtered by kind, agent, risk and words in any order', () => {
    const both = [deploy, name]
    const few = (query: string) => both.filter((r) => matchesView(r, view(query))).map((r) => r.id)
    expect(few('')).toEqual([1, 2])
    expect(few('kind=question')).toEqual([2])
    expect(few('agent=api')).toEqual([1, 2])
    expect(few('agent=other')).toEqual([])
    expect(few('agent=other&agent=api')).toEqual([1, 2])
    expect(few('risk=high')).toEqual([2])
    expect(few('find=SHIP+deploy')).toEqual([1])
    expect(few('find=%232')).toEqual([2])
    expect(filterLists(groupRequests(both, 0, new Map()), view('find=ship')).needs.map((r) => r.id)).toEqual([
      1,
    ])
  })

  it('fall back to pending for an unknown tab', () => expect(view('tab=__proto__').tab).toBe('pending'))

  it('are ordered by group', () => {
    const mine = asked(3, {}, { requiredApprovals: 2, votes: [{ user: 'me', choice: 'approve', at: 1 }] })
    const lost = asked(4, {}, { status: 'responded', delivery: { state: 'refused', attempts: 1 } })
    const all = groupRequests([deploy, name, mine, lost], 0, new Map([[1, 1e15]]), 'me')
    expect([all.votes, all.snoozed].map((g) => g.map((r) => r.id))).toEqual([[3], [1]])
    expect(visibleOrder(all, false).map((r) => r.id)).toEqual([4, 2, 3, 1])
  })

  it('show every answer in its undo window', () => {
    const held = Array.from({ length: 60 }, (_, i) =>
      asked(i + 1, {}, { held: { until: 1e15, outcome: 'approve' } }),
    )
    expect(groupRequests(held, 0, new Map()).settled).toHaveLength(60)
  })
})

describe('matchesView', () => {
  const alone = asked(1, {}, { recipients: ['ann', 'bob'], awaiting: ['bob'] })
  const anyone = asked(2)
  const ended = asked(3, {}, { status: 'responded', recipients: ['ann'], awaiting: ['ann'] })
  const few = (query: string, me = '') =>
    [alone, anyone, ended].filter((r) => matchesView(r, view(query), me)).map((r) => r.id)

  it('“Waiting on me” excludes requests that are settled or have my vote', () => {
    expect(few('mine=1', 'ann')).toEqual([])
    expect(few('mine=1', 'bob')).toEqual([1]) // not what anyone may answer
    expect(few('mine=1')).toEqual([1, 2, 3]) // the filter has no effect without a user
  })
  it('“Waiting on me” includes what no owner can decide', () => {
    const noOwner = asked(4, {}, { owners: { state: 'unknown' } })
    expect(matchesView(noOwner, view('mine=1'), 'bob')).toBe(true)
  })
  it('limits requests to the date range', () => {
    const at = alone.askedAt
    const within = (from?: number, to?: number) =>
      [alone, anyone]
        .filter((r) => matchesView(r, parseView(new URLSearchParams(), { from, to })))
        .map((r) => r.id)
    expect(within(at)).toEqual([1, 2])
    expect(within(at + 1)).toEqual([2])
    expect(within(undefined, at + 1)).toEqual([1])
    expect(within(at + 5, at + 9)).toEqual([])
  })
})
