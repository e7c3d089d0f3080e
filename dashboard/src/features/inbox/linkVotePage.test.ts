import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { lazyBundle } from './lazyBundle.svelte'
import { router } from '../../lib/page/router.svelte'
import { aRequest } from '../../testing/factories'
import type { Event, Status } from '../../lib/api/types'
import LinkVotePage from './LinkVotePage.svelte'
import { signInError, initials, linkError } from '../../lib/format/errorText'

const problem = (status: number, code: string, more = {}) => ({
  type: 'about:blank',
  title: code,
  status,
  code,
  error: code,
  detail: code,
  ...more,
})
const two = { requiredApprovals: 2, recipients: ['mara', 'ali'], awaiting: ['mara', 'ali'] }
const asked = (status: Partial<Status> = {}): Event =>
  aRequest(
    12,
    { toolCall: { name: 'Bash', arguments: { command: 'ls' }, editable: true } },
    { ...two, ...status },
  )

let answers: Record<string, { status: number; body: unknown }>
let sent: { path: string; body: unknown }[]
const on = (path: string, body: unknown, status = 200) => (answers[path] = { status, body })

function visit(hash = '#tok-en_1') {
  history.replaceState(null, '', '/inbox')
  router.go('/hitl/12/vote' + hash)
  render(LinkVotePage)
}

describe('LinkVotePage', () => {
  beforeAll(() => lazyBundle.load())
  beforeEach(() => {
    ;[answers, sent] = [{}, []]
    vi.spyOn(document, 'hasFocus').mockReturnValue(true)
    vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
      if (init?.method === 'POST') sent.push({ path, body: JSON.parse(String(init.body)) })
      const { status, body } = answers[path] ?? { status: 404, body: problem(404, 'no_route') }
      return new globalThis.Response(JSON.stringify(body), { status })
    })
    on('/hitl/12/link', { person: 'ali', expiresAt: 1, event: asked() })
  })
  afterEach(cleanup)

  it('shows the commit that the request is about', async () => {
    const commit = '8f14e45fceea167a5a36dedd4bea2543c1d2e3f4'
    on('/hitl/12/link', { person: 'ali', expiresAt: 1, event: aRequest(12, { context: { commit } }, two) })
    visit()
    expect((await screen.findByTestId('commit')).textContent).toBe(`commit ${commit}`)
  })

  it('shows what the call does', async () => {
    const toolCall = {
      name: 'Bash',
      arguments: { command: 'rm a' },
      consequence: { sentences: ['Removes 1 file.'] },
    }
    on('/hitl/12/link', { person: 'ali', expiresAt: 1, event: aRequest(12, { toolCall }, two) })
    visit()
    expect((await screen.findByTestId('consequence')).textContent).toContain('Removes 1 file.')
  })

  it('votes once as the recipient, and shows the result', async () => {
    visit()
    expect(location.href).toMatch(/\/hitl\/12\/vote$/)
    await screen.findByText('ali')
    expect(sent).toEqual([{ path: '/hitl/12/link', body: { token: 'tok-en_1' } }])
    expect(screen.queryByRole('button', { name: /Edit/ })).toBeNull()
    on('/hitl/12/vote', asked({ awaiting: ['mara'], votes: [{ user: 'ali', choice: 'approve', at: 1 }] }))
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    const done = await screen.findByTestId('voted')
    expect(done.textContent).toMatch(/Your vote is recorded\.\s+Waiting for mara\./)
    expect(sent[1]).toEqual({
      path: '/hitl/12/vote',
      body: { token: 'tok-en_1', permission: true, revision: 1 },
    })
    expect(screen.queryByRole('button', { name: /^Approve/ })).toBeNull()
    expect(sent.map((s) => s.path)).toEqual(['/hitl/12/link', '/hitl/12/vote'])
  })

  it('survives a reload, without the token in the URL', async () => {
    visit()
    await screen.findByText('ali')
    cleanup()
    visit('')
    await screen.findByText('ali')
    expect(sent).toHaveLength(2)
  })

  it('keeps the form if the hub rejects the answer', async () => {
    visit()
    on('/hitl/12/vote', problem(422, 'wrong_answer', { detail: 'reason is needed' }), 422)
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    expect((await screen.findByRole('alert')).textContent).toContain('reason is needed')
    expect(screen.getByRole('button', { name: /^Approve/ })).toBeTruthy()
  })

  it.each([
    ['stale', 409, 'This request has changed since it was sent to you'],
    ['decided', 409, 'This request is already decided'],
    ['expired', 410, 'This request has ended'],
    ['sign_in', 401, 'This link no longer works'],
  ])('explains an invalid link: %s', async (code, status, title) => {
    on('/hitl/12/link', problem(status, code, { hint: 'Do this.' }), status)
    visit()
    await screen.findByRole('heading', { name: title })
    expect(screen.getByText(new RegExp(`^${code}\\. Do this\\.$`, 'i'))).toBeTruthy()
  })

  it('explains that the link was used', async () => {
    const used = { field: 'token', detail: 'token has been used: it works once', hint: 'Sign in.' }
    on('/hitl/12/link', problem(403, 'not_allowed', used), 403)
    visit()
    await screen.findByText('It has been used: it works once. Sign in.')
  })

  it('replaces the form if the request is edited while open', async () => {
    visit()
    on('/hitl/12/vote', problem(409, 'stale'), 409)
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    await screen.findByRole('heading', { name: 'This request has changed since it was sent to you' })
    expect(screen.queryByRole('button', { name: /^Approve/ })).toBeNull()
  })

  it('reports a missing token', async () => {
    visit('')
    await screen.findByRole('heading', { name: 'This link is incomplete' })
    expect(sent).toEqual([])
  })
})

it.each([
  ['mara', 'M'],
  ['Mara Lind', 'ML'],
  ['ali.k@example.com', 'AC'],
  ['…', '?'],
])('initials of %s are %s', (name, letters) => expect(initials(name)).toBe(letters))

it.each([
  ['This link was used already, or is older than 15 minutes.', 401, 'sign_in', 'This link no longer works'],
  ['', 429, 'too_many', 'Sign-in failed'],
  ['', 0, 'unreachable', 'The hub can’t be reached'],
])('signInError explains the next step: %s %i', (hint, status, code, title) => {
  const failure = signInError(problem(status, code, { hint }))
  expect(failure.title).toBe(title)
  if (hint) expect(failure.text).toContain(hint)
  expect(linkError(problem(0, 'unreachable')).text).toContain('still valid')
})
