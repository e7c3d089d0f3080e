import { flushSync } from 'svelte'
import { describe, expect, it } from 'vitest'
import { Action } from './action.svelte'
import { ApiError } from './api'
import { announceReconnect } from './reconnect'

const refusal = (status: number) =>
  new ApiError({ type: '', title: `Status ${status}`, status, code: '', error: '' })

/** Shows the problem of an action, as a component does. */
function shown(action: Action) {
  let title: string | undefined
  const hide = $effect.root(() => {
    $effect(() => void (title = action.problem?.title))
  })
  const current = () => {
    flushSync()
    return title
  }
  return { current, hide }
}

describe('Action', () => {
  it.each([
    [0, undefined],
    [503, undefined],
    [422, 'Status 422'],
  ])('keeps a problem of status %i after a reconnect only if it is a refusal', async (status, after) => {
    const action = new Action()
    const { current, hide } = shown(action)
    expect(await action.run(() => Promise.reject(refusal(status)))).toBe(false)
    expect(current()).toBe(`Status ${status}`)
    announceReconnect()
    expect(current()).toBe(after)
    hide()
  })

  it('forgets its problem with the next attempt, which runs alone', async () => {
    const action = new Action()
    const { current, hide } = shown(action)
    await action.run(() => Promise.reject(refusal(422)))
    let done: () => void = () => undefined
    const attempt = action.run(() => new Promise<void>((resolve) => (done = resolve)))
    expect(current()).toBeUndefined()
    expect(await action.run(() => Promise.resolve())).toBe(false)
    done()
    expect(await attempt).toBe(true)
    expect(action.busy).toBe(false)
    hide()
  })

  it('passes on an error that is not of the hub', async () => {
    const action = new Action()
    await expect(action.run(() => Promise.reject(new TypeError('bug')))).rejects.toThrow('bug')
    expect(action.busy).toBe(false)
  })
})
