import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { me } from '../../../lib/api/currentUser.svelte'
import type { Me } from '../../../lib/api/types'
import { toRequest, type Request } from '../../../lib/stream/requests'
import { aRequest } from '../../../testing/factories'
import CreateRule from './CreateRule.svelte'

const anonymous: Me = {
  ...{ name: 'local user', verified: false, locked: false, canAnswer: true, canAdmin: false },
}

afterEach(() => {
  cleanup()
  me.identity = undefined
})

describe('CreateRule', () => {
  it.each([
    [
      'become the owner of a hub without one',
      {},
      /No one owns this hub yet\. Become its owner to create rules/,
    ],
    ['sign in to an owned hub', { owned: true }, /Sign in to create rules/],
  ])('asks a signed-out user to %s', (_, more, text) => {
    const fetched = vi.fn()
    vi.stubGlobal('fetch', fetched)
    me.identity = { ...anonymous, ...more }
    const question = { type: 'permission' as const, toolCall: { name: 'Bash', arguments: { command: 'ls' } } }
    const request = toRequest(aRequest(1, question)) as Request
    render(CreateRule, { request, then: 'allow', close: vi.fn(), note: vi.fn() })
    expect(screen.getByTestId('sign-in-first').textContent).toMatch(text)
    expect(fetched).not.toHaveBeenCalled()
  })
})
