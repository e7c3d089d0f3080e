import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { announceReconnect } from '../api/reconnect'
import type { ReplayDraft } from '../api/schema'
import { post } from '../api/api'
import { DraftCheck } from './draftCheck.svelte'

const draft = {} as ReplayDraft
const replay = (wanted: ReplayDraft, signal: AbortSignal) => post('/api/policies/replay', wanted, signal)

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('DraftCheck', () => {
  it('compares again after a reconnect if the hub could not be reached', async () => {
    const fetched = vi.fn(() => Promise.reject(new TypeError('Failed to fetch')))
    vi.stubGlobal('fetch', fetched)
    const run = new DraftCheck(replay, 400)
    const stop = run.start(draft)
    await vi.runAllTimersAsync()
    expect(run.problem?.status).toBe(0)
    const found = { matched: 3 }
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(found))))
    announceReconnect()
    await vi.runAllTimersAsync()
    expect(run.problem).toBeUndefined()
    expect(run.result).toEqual(found)
    stop()
  })

  it('asks nothing after it was stopped', async () => {
    const fetched = vi.fn(() => Promise.reject(new TypeError('Failed to fetch')))
    vi.stubGlobal('fetch', fetched)
    const run = new DraftCheck(replay, 400)
    const stop = run.start(draft)
    await vi.runAllTimersAsync()
    stop()
    fetched.mockClear()
    announceReconnect()
    await vi.runAllTimersAsync()
    expect(fetched).not.toHaveBeenCalled()
  })
})
