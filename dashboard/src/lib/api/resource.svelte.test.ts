import { flushSync } from 'svelte'
import { describe, expect, it } from 'vitest'
import { ApiError } from './api'
import { announceReconnect } from './reconnect'
import { Resource } from './resource.svelte'

const offline = new ApiError({ type: '', title: 'Offline', status: 0, code: 'unreachable', error: '' })
const settled = () => new Promise((done) => setTimeout(done))

describe('Resource', () => {
  it('loads again and clears its error on each reconnect, while it is shown', async () => {
    let fail = true
    let loads = 0
    const resource = new Resource(async () => {
      loads++
      if (fail) throw offline
      return loads
    })
    const shown: [unknown, unknown][] = []
    const hide = $effect.root(() => {
      $effect(() => void shown.push([resource.value, resource.problem?.title]))
    })
    flushSync()
    await resource.load()
    flushSync()
    expect(shown.at(-1)).toEqual([undefined, 'Offline'])
    fail = false
    announceReconnect()
    await settled()
    flushSync()
    expect(shown.at(-1)).toEqual([2, undefined])
    announceReconnect()
    await settled()
    flushSync()
    expect(shown.at(-1)).toEqual([3, undefined])
    hide()
    await settled()
    announceReconnect()
    await settled()
    expect(loads).toBe(3)
  })

  it('keeps the newest load, whichever response arrives first', async () => {
    const pending: ((value: string) => void)[] = []
    const resource = new Resource(() => new Promise<string>((done) => pending.push(done)))
    const both = [resource.load(), resource.load()]
    pending[1]?.('new')
    pending[0]?.('old')
    await Promise.all(both)
    expect(resource.value).toBe('new')
  })
})
