import { cleanup, fireEvent, render, screen, within } from '@testing-library/svelte'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { me } from '../../lib/api/currentUser.svelte'
import type { Me, Person } from '../../lib/api/types'
import HubNotices from './HubNotices.svelte'
import PeopleList from './PeopleList.svelte'
import { signIns } from './signIns.svelte'

const ada: Me = {
  ...{ name: 'ada', role: 'admin', verified: true, owner: true, owned: true, signIn: 's1' },
  ...{ locked: true, canAnswer: true, canAdmin: true },
}
const anonymous: Me = {
  ...{ name: 'local user', verified: false, locked: false, canAnswer: true, canAdmin: false },
}
const person = (name: string, more: Partial<Person> = {}): Person => ({
  ...{ name, role: 'operator', createdAt: 1, ...more },
})
const people = [
  person('ada', { role: 'admin', owner: true, signedIn: true }),
  person('bob', { signedIn: true }),
  person('cleo'),
]

let posted: { path: string; body: unknown }[]
beforeEach(() => {
  posted = []
  vi.stubGlobal('fetch', (path: string, init?: RequestInit) => {
    if (init?.method !== undefined)
      posted.push({ path, body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined })
    return Promise.resolve(
      Response.json(path === '/api/people' ? people : path === '/api/me' ? ada : people[1]),
    )
  })
})
afterEach(() => {
  cleanup()
  me.identity = undefined
})

describe('PeopleList', () => {
  it('offers a link only for oneself and for people who have not signed in', async () => {
    me.identity = ada
    render(PeopleList)
    await screen.findByRole('button', { name: 'New link for ada' })
    screen.getByRole('button', { name: 'New link for cleo' })
    expect(screen.queryByRole('button', { name: 'New link for bob' })).toBeNull()
    expect(screen.queryByRole('button', { name: /^Reset.*(ada|cleo)/ })).toBeNull()
  })

  it('resets a person after a dialog that states what ends', async () => {
    me.identity = ada
    render(PeopleList)
    await fireEvent.click(await screen.findByRole('button', { name: 'Reset the account of bob' }))
    const dialog = await screen.findByRole('dialog', { name: 'Reset bob?', hidden: true })
    expect(dialog.textContent).toMatch(/sign-ins, tokens, passkeys/)
    expect(posted).toEqual([])
    await fireEvent.click(within(dialog).getByText('Reset account'))
    await vi.waitFor(() => expect(posted).toEqual([{ path: '/api/people/bob/reset', body: {} }]))
  })
})

describe('People', () => {
  it('shows presence, passkeys, sign-ins and linked chats', async () => {
    people[1] = person('bob', {
      signedIn: true,
      lastSeenAt: Date.now() - 42_000,
      passkeys: 2,
      chats: ['telegram'],
    })
    signIns.value = ['bob', 'bob', 'ada'].map((name, i) => ({
      ...{ id: String(i), person: name, way: 'link' as const, createdAt: 1, lastSeenAt: 1, expiresAt: 2 },
    }))
    me.identity = ada
    render(PeopleList)
    const row = (await screen.findByText('bob')).closest('li')
    expect(row?.textContent).toMatch(/active 4\d s ago · 2 passkeys · 2 sign-ins · Telegram linked/)
    signIns.value = undefined
  })
})

describe('HubNotices', () => {
  it('offers the lock of an open, owned hub to admins only', async () => {
    me.identity = { ...ada, locked: false }
    render(HubNotices)
    await fireEvent.click(screen.getByRole('button', { name: 'Lock the hub' }))
    await vi.waitFor(() => expect(posted).toEqual([{ path: '/api/lock', body: { locked: true } }]))
    cleanup()
    me.identity = { ...anonymous, owned: true }
    render(HubNotices)
    screen.getByTestId('hub-open')
    expect(screen.queryByRole('button')).toBeNull()
  })

  it('asks a signed-out visitor of a locked hub to sign in', async () => {
    me.sessionExpired = false
    me.identity = { ...anonymous, owned: true, locked: true, canAnswer: false }
    expect(me.hasNotices).toBe(true)
    render(HubNotices)
    expect(screen.getByTestId('hub-locked').textContent).toMatch(/^\s*Sign in to answer\.\s*Sign in$/)
    await fireEvent.click(screen.getByRole('button', { name: 'Sign in' }))
    expect(me.dialog).toEqual({ step: 'how' })
    me.close()
    me.identity = { ...ada, locked: true }
    expect(me.hasNotices).toBe(false)
  })

  it('shows recent changes of accounts, the newest first', () => {
    me.identity = {
      ...ada,
      changes: [
        { change: 'reset', person: 'bob', by: 'ada', at: 1 },
        { change: 'promoted', person: 'cleo', by: 'ada', at: 2 },
      ],
    }
    render(HubNotices)
    expect(me.hasNotices).toBe(true)
    const lines = screen.getAllByRole('listitem').map((li) => li.textContent)
    expect(lines[0]).toContain('ada made cleo an admin.')
    expect(lines[1]).toContain('ada reset the account of bob:')
    expect(screen.queryByTestId('hub-open')).toBeNull()
  })
})
