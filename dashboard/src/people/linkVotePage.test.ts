import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { lazyBundle } from '../inbox/lazyBundle.svelte'
import { router } from '../router.svelte'
import { aRequest } from '../testing/factories'
import type { Event, Status } from '../types'
import LinkVotePage from './LinkVotePage.svelte'
import { describeUserAgent } from './userAgent'
import { signInError, initials, linkError } from './errorText'

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

describe('a signed link', () => {
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

  it('votes once as the person it was sent to, and says what came of it', async () => {
    visit()
    expect(location.href).toMatch(/\/hitl\/12\/vote$/)
    await screen.findByText('ali')
    expect(sent).toEqual([{ path: '/hitl/12/link', body: { token: 'tok-en_1' } }])
    expect(screen.queryByRole('button', { name: /Edit/ })).toBeNull()
    on('/hitl/12/vote', asked({ awaiting: ['mara'], votes: [{ user: 'ali', choice: 'approve', at: 1 }] }))
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    const done = await screen.findByTestId('voted')
    expect(done.textContent).toMatch(/Your vote is in\.\s+Waiting for mara\./)
    expect(sent[1]).toEqual({
      path: '/hitl/12/vote',
      body: { token: 'tok-en_1', permission: true, revision: 1 },
    })
    expect(screen.queryByRole('button', { name: /^Approve/ })).toBeNull()
    expect(sent.map((s) => s.path)).toEqual(['/hitl/12/link', '/hitl/12/vote'])
  })

  it('outlives a reload, without its token in the address', async () => {
    visit()
    await screen.findByText('ali')
    cleanup()
    visit('')
    await screen.findByText('ali')
    expect(sent).toHaveLength(2)
  })

  it('keeps what was written when the hub wants it otherwise', async () => {
    visit()
    on('/hitl/12/vote', problem(422, 'wrong_answer', { detail: 'reason is needed' }), 422)
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    expect((await screen.findByRole('alert')).textContent).toContain('reason is needed')
    expect(screen.getByRole('button', { name: /^Approve/ })).toBeTruthy()
  })

  it.each([
    ['stale', 409, 'It was changed since you were asked'],
    ['decided', 409, 'It is decided already'],
    ['expired', 410, 'It is over'],
    ['sign_in', 401, 'This link no longer works'],
  ])('that is no good says why: %s', async (code, status, title) => {
    on('/hitl/12/link', problem(status, code, { hint: 'Do this.' }), status)
    visit()
    await screen.findByRole('heading', { name: title })
    expect(screen.getByText(new RegExp(`^${code}\\. Do this\\.$`, 'i'))).toBeTruthy()
  })

  it('that was used says so in a sentence', async () => {
    const used = { field: 'token', detail: 'token has been used: it works once', hint: 'Sign in.' }
    on('/hitl/12/link', problem(403, 'not_allowed', used), 403)
    visit()
    await screen.findByText('It has been used: it works once. Sign in.')
  })

  it('killed by an edit while it was open says so instead of the form', async () => {
    visit()
    on('/hitl/12/vote', problem(409, 'stale'), 409)
    await fireEvent.click(await screen.findByRole('button', { name: /^Approve/ }))
    await screen.findByRole('heading', { name: 'It was changed since you were asked' })
    expect(screen.queryByRole('button', { name: /^Approve/ })).toBeNull()
  })

  it('without its token says what is missing', async () => {
    visit('')
    await screen.findByRole('heading', { name: 'This link is not whole' })
    expect(sent).toEqual([])
  })
})

it.each([
  ['mara', 'M'],
  ['Mara Lind', 'ML'],
  ['ali.k@example.com', 'AC'],
  ['…', '?'],
])('%s is %s in a ring', (name, letters) => expect(initials(name)).toBe(letters))

it.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36',
    'Chrome on Linux',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 (KHTML) Version/17 Safari/605',
    'Safari on macOS',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Windows'],
  ['curl/8.5', 'curl/8.5'],
  [undefined, 'A browser that says nothing of itself'],
])('calls a browser by its name: %s', (agent, name) => expect(describeUserAgent(agent)).toBe(name))

it.each([
  ['This link was used already, or is older than 15 minutes.', 401, 'sign_in', 'This link no longer works'],
  ['', 429, 'too_many', 'Signing in failed'],
  ['', 0, 'unreachable', 'The hub can’t be reached'],
])('says what to do when a sign-in fails: %s %i', (hint, status, code, title) => {
  const failure = signInError(problem(status, code, { hint }))
  expect(failure.title).toBe(title)
  if (hint) expect(failure.text).toContain(hint)
  expect(linkError(problem(0, 'unreachable')).text).toContain('still good')
})
