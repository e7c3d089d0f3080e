import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { hub, shortcuts } from '../../lib/stream/liveState.svelte'
import { me } from '../../lib/api/currentUser.svelte'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest } from '../../testing/factories'
import type { HumanInTheLoop, Me, Response, Status } from '../../lib/api/types'
import RequestDetail from './RequestDetail.svelte'
import { argumentChanges } from './argumentChanges'
import { automaticActions, deadlineNotSent } from './automaticActions'
import { lazyBundle } from './lazyBundle.svelte'
import { withEdits, blockerFor, classNote } from '../../lib/format/permissions'
import { joinNames } from '../../lib/format/text'
import { tallyText, voteTally, type VoteTally } from './voteTally'
import { agentMessage } from './agentMessage'
import { resolvedBy, requestOutcome } from '../../lib/format/outcome'

const mara: Me = {
  name: 'mara',
  role: 'operator',
  verified: true,
  locked: true,
  canAnswer: true,
  canAdmin: false,
}
const asked = (question: Partial<HumanInTheLoop>, status: Partial<Status>, more: Partial<Request> = {}) => ({
  ...(toRequest(aRequest(1, question, status)) as Request),
  ...more,
})
const vote = (user: string, choice: string, at = 1, comment?: string) => ({ user, choice, at, comment })
const two = { requiredApprovals: 2, recipients: ['mara', 'noor', 'ali'], awaiting: ['mara', 'ali'] }

describe('blockerFor', () => {
  const problem = { type: '', title: '', status: 403, code: 'self_approval', error: '' }
  it.each<[string, Partial<Me> | undefined, Request]>([
    ['nothing', undefined, asked({}, {})],
    ['nothing', { verified: false, locked: false, name: 'local user' }, asked({}, {})],
    ['sign-in', { verified: false, canAnswer: false }, asked({}, two)],
    ['role', { canAnswer: false, role: 'viewer' }, asked({}, {})],
    ['named', { verified: false, locked: false, name: 'local user' }, asked({}, two)],
    ['named', { verified: false, name: 'local user' }, asked({ requiredApprovals: 2 }, {})],
    ['not-asked', {}, asked({}, { recipients: ['noor'] })],
    ['nothing', {}, asked({}, two)],
    ['own', {}, asked({}, {}, { problem })],
    ['passkey', { passkeyFor: 'high' }, asked({ risk: 'critical' }, {})],
    ['nothing', { passkeyFor: 'high' }, asked({ risk: 'medium' }, {})],
    ['nothing', { passkeyFor: 'high', passkeys: 1 }, asked({}, { risk: 'high' })],
    ['nothing', { passkeyFor: 'unknown' }, asked({}, { class: 'harmless' })],
    ['passkey', { passkeyFor: 'unknown' }, asked({ risk: 'medium' }, { class: 'harmless' })],
    ['passkey', { passkeyFor: 'unknown' }, asked({}, { class: 'unknown' })],
    ['passkey', { passkeyFor: 'unknown' }, asked({}, {})],
    ['nothing', { passkeyFor: 'high' }, asked({}, { class: 'unknown' })],
  ])('returns %s for %j', (why, who, request) =>
    expect(blockerFor(request, who && { ...mara, ...who })?.why ?? 'nothing').toBe(why),
  )
})

describe('classNote', () => {
  it.each<[string, Partial<Me>, Request]>([
    ['', {}, asked({}, {})],
    ['Known to be harmless.', { passkeyFor: 'unknown' }, asked({}, { class: 'harmless' })],
    ['', { passkeyFor: 'high' }, asked({}, { class: 'unknown' })],
    ['Approving needs a passkey.', { passkeyFor: 'unknown' }, asked({}, { class: 'unknown' })],
    ['Approving needs a passkey.', { passkeyFor: 'high' }, asked({}, { class: 'risky', risk: 'high' })],
  ])('returns %j for %j', (note, who, request) => expect(classNote(request, { ...mara, ...who })).toBe(note))
})

describe('voteTally', () => {
  it('counts each choice and marks the winner', () => {
    const votes = [vote('noor', 'approve'), vote('ali', 'deny'), vote('mara', 'approve')]
    const tally = voteTally(asked({}, { ...two, votes, awaiting: [] }))
    expect(tally?.choices.map((s) => [s.label, s.votes.length, s.won])).toEqual([
      ['Approve', 2, true],
      ['Deny', 1, false],
    ])
    expect([tally?.required, tally?.eligible]).toEqual([2, 3])
  })

  it('is undefined if one answer is enough', () =>
    expect(voteTally(asked({}, { recipients: ['mara'] }))).toBeUndefined())

  it('lists only the choices with votes if there are many', () => {
    const choices = Array.from({ length: 9 }, (_, i) => `c${i}`)
    const tally = voteTally(asked({ type: 'choice', choices }, { ...two, votes: [vote('noor', 'c7')] }))
    expect(tally?.choices.map((s) => s.choice)).toEqual(['c7'])
  })
})

it('has a summary line', () => {
  const line = (votes: Status['votes'], recipients?: string[]) =>
    tallyText(voteTally(asked({}, { requiredApprovals: 2, votes, recipients })) as VoteTally)
  expect(line([])).toBe('2 must agree; so far no votes.')
  expect(line([vote('a', 'deny'), vote('b', 'approve')], ['a', 'b', 'c'])).toBe(
    '2 of 3 must agree; so far 1 Approve, 1 Deny.',
  )
})

it('joinNames joins names with commas and “and”', () =>
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map(joinNames)).toEqual(['', 'a', 'a and b', 'a, b and c']))

it('argumentChanges returns edits in argument order', () => {
  expect(argumentChanges({ a: 'x', b: 1, c: [1] }, { a: 'x', b: 2, d: true })).toEqual([
    { name: 'b', before: '1', after: '2' },
    { name: 'c', before: '[\n  1\n]', after: '' },
    { name: 'd', before: '', after: 'true' },
  ])
  expect(argumentChanges(undefined, { a: 1 })).toHaveLength(1)
  expect(argumentChanges({ constructor: 1 }, {})).toEqual([{ name: 'constructor', before: '1', after: '' }])
})

it('withEdits replaces the original call', () => {
  const edited = { arguments: { command: 'ls' }, by: 'noor', at: 1, revision: 2 }
  const call = { name: 'Bash', arguments: { command: 'rm' } }
  const request = asked({ toolCall: call }, { edited })
  expect(withEdits(request).event.humanInTheLoop?.toolCall?.arguments).toEqual({ command: 'ls' })
  expect(withEdits(request).question.toolCall?.name).toBe('Bash')
  expect(request.question.toolCall?.arguments).toEqual({ command: 'rm' })
})

describe('automaticActions', () => {
  it.each<[string[], Partial<HumanInTheLoop>, Partial<Status>]>([
    [[], {}, {}],
    [['Reminds at most twice, every 5 min.'], { reminderMaxCount: 2, reminderIntervalSeconds: 300 }, {}],
    [['Reminded once of 3.'], { reminderMaxCount: 3, reminderIntervalSeconds: 300 }, { reminders: 1 }],
    [
      ['If no one answers in time, the agent stops its run.'],
      { onTimeout: 'fail_run' },
      { expiresAt: 2_000_000_000_000 },
    ],
  ])('%j', (facts, question, status) => expect(automaticActions(asked(question, status))).toEqual(facts))

  it.each([
    ['delivered', / extended the deadline at \d\d:\d\d; the agent was notified\.$/],
    ['queued', /; notifying the agent\.$/],
    ['none', /^mara extended the deadline at \d\d:\d\d\.$/],
  ] as const)('says whether the agent knows of more time: %s', (agent, words) => {
    const r = asked({}, { extended: { by: 'mara', at: 1, agent } })
    expect(automaticActions(r)[0]).toMatch(words)
    expect(deadlineNotSent(r)).toBeUndefined()
  })

  it('warns if a new deadline was not sent to the agent', () => {
    const extended = { by: 'mara', at: 1, agent: 'unreachable', error: 'connection refused' } as const
    expect(deadlineNotSent(asked({}, { extended }))).toMatch(/could not be told .* \(connection refused\)/)
    expect(deadlineNotSent(asked({}, { extended, status: 'timeout' }))).toBeUndefined()
  })

  it('names the recipients of an escalation', () => {
    const to = { escalateAfterSeconds: 60, escalateTo: { mode: 'owner_admins' as const } }
    expect(automaticActions(asked(to, {}))[0]).toMatch(
      /^Escalates at \d\d:\d\d to the owner and the admins\.$/,
    )
    const members = { ...to, escalateTo: { mode: 'selected_members' as const, members: ['ali', 'noor'] } }
    expect(automaticActions(asked(members, { escalatedAt: 1 }))[0]).toMatch(
      /^Escalated at \d\d:\d\d to ali and noor/,
    )
  })
})

describe('Vote outcome', () => {
  it('without a majority has no responder', () => {
    const r = asked({}, { status: 'error', source: 'quorum', outcome: '__no_quorum__' }, { mine: true })
    expect([requestOutcome(r).label, resolvedBy(r), agentMessage(r)]).toEqual([
      'No majority',
      'the votes',
      'Not enough people agreed: nothing may run.',
    ])
  })
  it('names the user with the deciding vote', () => {
    const respondedBy = { name: 'noor', verified: true }
    const r = asked({}, { status: 'responded', source: 'quorum', outcome: 'approve', respondedBy })
    expect(resolvedBy(r)).toBe('noor')
  })
})

describe('Vote card', () => {
  let sent: Response[]
  let stop: () => void
  const props = (request: Request, more = {}) => ({
    request,
    focus: false,
    answer: async (what: Response) => (sent.push(what), true),
    cancel: async () => true,
    ...more,
  })
  const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key })
  const button = (name: RegExp) => screen.queryByRole('button', { name })

  beforeAll(() => lazyBundle.load())
  beforeEach(() => {
    sent = []
    me.identity = mara
    vi.stubGlobal('fetch', async (path: string) =>
      path === '/api/people'
        ? new globalThis.Response('[]')
        : new globalThis.Response('{"before":[],"earlier":{}}'),
    )
    vi.spyOn(document, 'hasFocus').mockReturnValue(true)
    stop = shortcuts.listen(window)
    shortcuts.endGrace()
  })
  afterEach(() => {
    cleanup()
    stop()
    me.identity = undefined
  })

  it('sends a vote with a comment and the revision it was for', async () => {
    render(RequestDetail, props(asked({}, { ...two, revision: 7, votes: [vote('noor', 'approve')] })))
    const votes = screen.getByTestId('votes')
    expect(votes.textContent).toMatch(/Needs\s+2 of 3 to agree/)
    expect(votes.textContent).toMatch(/Approve 1 of 2 needed/)
    expect(votes.textContent).toMatch(/Waiting for\s+mara \(you\), ali/)
    await press('c')
    await fireEvent.input(screen.getByLabelText(/Comment/), { target: { value: 'Fine by me.' } })
    await fireEvent.click(screen.getByRole('button', { name: /^Approve/ }))
    expect(sent).toEqual([{ permission: true, comment: 'Fine by me.', revision: 7 }])
  })

  it('shows my vote and that voting again replaces it', () => {
    const votes = [vote('mara', 'deny', 1, 'Too early.')]
    render(RequestDetail, props(asked({}, { ...two, votes, awaiting: ['noor', 'ali'] })))
    expect(within(screen.getByTestId('votes')).getByText('Too early.')).toBeTruthy()
    expect(screen.getByTestId('votes').textContent).toMatch(/mara \(you\)\s+Deny/)
    expect(screen.getByText(/voting again replaces your vote/)).toBeTruthy()
  })

  it.each<[string, Partial<Me>, Partial<Status>, RegExp, boolean]>([
    ['sign-in', { verified: false, canAnswer: false }, {}, /The hub is locked/, false],
    ['role', { canAnswer: false, role: 'viewer' }, {}, /You can view, but not answer/, false],
    ['not-asked', {}, { recipients: ['noor', 'ali'] }, /addressed to noor and ali/, true],
  ])('is readable and explains why it can’t be answered: %s', async (why, who, status, words, cancels) => {
    me.identity = { ...mara, ...who }
    render(RequestDetail, props(asked({}, status)))
    expect(screen.getByTestId('cannot-answer').dataset.why).toBe(why)
    expect(screen.getByText(words)).toBeTruthy()
    expect(button(/^Approve/)).toBeNull()
    await fireEvent.keyDown(document.body, { key: 'X', shiftKey: true })
    expect(button(/Cancel the request/) !== null).toBe(cancels)
    await press('Escape')
    await press('a')
    expect(sent).toEqual([])
  })

  it('opens the sign-in dialog', async () => {
    me.identity = { ...mara, verified: false, canAnswer: false }
    render(RequestDetail, props(asked({}, {})))
    await fireEvent.click(screen.getByRole('button', { name: 'Sign in' }))
    expect(me.dialog).toEqual({ step: 'how' })
    me.close()
  })

  it('shows the call as edited by a voter, and enables keys once it was seen', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const call = { toolCall: { name: 'Bash', arguments: { command: 'rm -rf build' } } }
    const { rerender } = render(RequestDetail, props(asked(call, { ...two, revision: 1 })))
    const edited = { arguments: { command: 'rm -r build' }, by: 'noor', at: 1, revision: 2 }
    await rerender({ request: asked(call, { ...two, revision: 2, edited }) })
    expect(screen.getByTestId('voter-edit').textContent).toMatch(/noor changed this call/)
    expect(screen.getByTestId('voter-edit').querySelector('del')?.textContent).toContain('rf')
    expect(document.querySelector('.call-preview')?.textContent).toContain('rm -r build')
    expect(screen.getByText(/noor changed the call\. Review it again/)).toBeTruthy()
    await press('a')
    expect(sent).toEqual([])
    shortcuts.endGrace()
    await press('a')
    expect(sent).toEqual([{ permission: true, revision: 2 }])
  })

  it('extends the deadline by keyboard, and shows the hub’s error', async () => {
    const refusal = {
      type: '',
      title: 'No',
      status: 422,
      code: 'wrong_answer',
      error: '',
      detail: 'It has its own fuse.',
    }
    const extend = vi.spyOn(hub, 'extend').mockResolvedValueOnce(refusal).mockResolvedValueOnce(undefined)
    const later = Date.now() + 600_000
    render(RequestDetail, props(asked({}, { expiresAt: later })))
    await press('t')
    await press('2')
    expect(extend).toHaveBeenLastCalledWith(1, 900)
    expect((await screen.findByRole('alert')).textContent).toContain('It has its own fuse.')
    await press('4')
    expect(extend).toHaveBeenLastCalledWith(1, 0)
    await screen.findByText('The deadline is removed.')
    expect(screen.queryByTestId('extend')).toBeNull()
  })

  it('opened by a signed link, only answers as that recipient', async () => {
    me.identity = undefined
    const request = asked({}, { ...two, revision: 3, expiresAt: Date.now() + 600_000 })
    render(RequestDetail, props(request, { cancel: undefined, whose: 'ali', alone: true }))
    expect(screen.getByTestId('votes').textContent).toMatch(/ali \(you\)/)
    expect([/Cancel/, /Extend/, /Copy link/].map(button)).toEqual([null, null, null])
    expect(screen.queryByTestId('recent-activity')).toBeNull()
    await fireEvent.click(screen.getByRole('button', { name: /^Approve/ }))
    expect(sent).toEqual([{ permission: true, revision: 3 }])
  })

  it('once settled, names the responder and how they were verified', () => {
    const respondedBy = { name: 'noor', verified: true, via: 'link' as const, passkey: true }
    const votes = [vote('mara', 'approve', 1), vote('noor', 'approve', 2, 'Go.')]
    const status = { ...two, status: 'responded' as const, outcome: 'approve', source: 'quorum' as const }
    render(
      RequestDetail,
      props(asked({}, { ...status, respondedBy, respondedAt: 3, votes, awaiting: ['ali'] })),
    )
    const settled = screen.getByTestId('settled').textContent
    expect(settled).toMatch(/by\s+noor/)
    expect(settled).toMatch(/by a signed link/)
    expect(settled).toMatch(/passkey/)
    expect(settled).toMatch(/the deciding vote/)
    expect(screen.getByTestId('votes').textContent).toMatch(/Did not vote:\s+ali/)
    expect(screen.getByTestId('votes').querySelector('.won')?.textContent).toContain('Approve')
  })
})
