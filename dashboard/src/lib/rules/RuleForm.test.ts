import { cleanup, render } from '@testing-library/svelte'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { toRequest, type Request } from '../stream/requests'
import { aRequest, commandView } from '../../testing/factories'
import type { RuleDraft, RulePreview } from '../api/types'
import { call } from '../api/api'
import { me } from '../api/currentUser.svelte'
import RuleForm from './RuleForm.svelte'
import { seedFromFile, seedFromRequest } from './seeds'

const drafts: RuleDraft[] = []
let exact: RulePreview['exact']
vi.mock('../api/api', async (original) => ({
  ...(await original<object>()),
  post: (path: string, draft: RuleDraft) => {
    if (path === '/api/policies/replay') return call(path) // the hub is offline
    expect(path).toBe('/api/rules/preview')
    drafts.push(draft)
    return Promise.resolve({ rule: { text: 'Allow some calls' }, exact, looked: 0, matched: 0, examples: [] })
  },
}))

vi.stubGlobal('fetch', () => Promise.reject(new TypeError('offline')))

describe('RuleForm', () => {
  afterEach(() => {
    cleanup()
    drafts.length = 0
    me.identity = undefined
  })
  const open = async (command: string) => {
    const call = { name: 'Bash', arguments: { command } }
    const request = toRequest(aRequest(7, { toolCall: call }, { view: commandView })) as Request
    const close = () => undefined
    me.identity = {
      name: 'ada',
      role: 'admin',
      verified: true,
      canAnswer: true,
      canAdmin: true,
      locked: true,
    }
    render(RuleForm, { seed: seedFromRequest(request, 'allow'), close, made: close })
    await vi.waitFor(() => expect(document.body.textContent).toContain('Allow some calls'))
    return [...document.querySelectorAll<HTMLInputElement>('input[type=radio][name$=-scope]')].map(
      (i) => i.value,
    )
  }

  it('offers every scope', async () => {
    exact = undefined
    expect(await open('npm test --bail')).toEqual(['call', 'when', 'tool'])
    expect(drafts.at(-1)).toMatchObject({ when: [{ is: 'starts_with', value: 'npm test' }] })
  })

  it('offers only the whole command if the program runs code', async () => {
    exact = 'command'
    expect(await open('make check')).toEqual(['call', 'when'])
    await vi.waitFor(() =>
      expect(drafts.at(-1)).toMatchObject({ when: [{ is: 'equals', value: 'make check' }] }),
    )
    expect(document.body.textContent).toContain('only the whole command can be allowed')
  })

  it('offers only the call', async () => {
    exact = 'call'
    expect(await open('make x; ls')).toEqual(['call'])
    await vi.waitFor(() => expect(drafts.at(-1)).toMatchObject({ scope: 'call' }))
  })

  it('copies the command for a file without the hub', async () => {
    const close = () => undefined
    const seed = seedFromFile('{ "tool": "Bash", "then": "deny", "reason": "not here" }')
    render(RuleForm, { seed, close, made: close })
    const copy = () =>
      [...document.querySelectorAll('button')].find((b) => b.textContent.includes('Copy command'))
    expect(copy()?.disabled).toBe(true)
    await vi.waitFor(() => expect(copy()?.disabled).toBe(false))
  })
})
