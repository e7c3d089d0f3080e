import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Stream, type Connection } from './stream'
import { deferred } from '../../testing/factories'
import type { Frame, Presence } from '../api/types'

class FakeSocket {
  onmessage: ((m: { data: string }) => void) | null = null
  onclose: ((e: { code: number }) => void) | null = null
  readyState = 1
  closed = false
  sent: unknown[] = []
  constructor(readonly path: string) {}
  close() {
    this.closed = true
  }
  say(...frames: object[]) {
    this.onmessage?.({ data: JSON.stringify(frames.length === 1 ? frames[0] : frames) })
  }
  send(text: string) {
    this.sent.push(JSON.parse(text))
  }
  die(code = 1006) {
    this.onclose?.({ code })
  }
}

let sockets: FakeSocket[]
let got: number[]
let states: Connection[]
let snapshots: ReturnType<typeof deferred<undefined>>[]
let replaced: number
let said: Presence[]
let signedOut: number
let notOpened: number
let ready: boolean
let polledPath: () => string
let stream: Stream

const hello = (seq: number, hubId = 'h1') => ({
  type: 'hello',
  data: { hubId, seq, serverTime: 0, version: 'x' },
})
const heartbeat = { type: 'heartbeat', data: { serverTime: 1 } }
const event = (seq: number) => ({ type: 'event', seq, data: { id: seq } })
const socket = () => sockets.at(-1) as FakeSocket
const phase = () => states.at(-1)?.phase
const settle = () => vi.advanceTimersByTimeAsync(0)

beforeEach(() => {
  vi.useFakeTimers()
  ;[sockets, got, states, snapshots, replaced, said, signedOut, notOpened] = [[], [], [], [], 0, [], 0, 0]
  ready = true
  stream = new Stream(
    {
      snapshot: () => {
        const loading = deferred<undefined>()
        snapshots.push(loading)
        return loading.promise
      },
      frames: (frames: Frame[]) => got.push(...frames.map((f) => f.seq ?? -1)),
      hello: () => undefined,
      replaced: () => replaced++,
      presence: (p) => said.push(p),
      messages: () => undefined,
      connection: (state) => states.push(state),
      signedOut: () => signedOut++,
      notOpened: () => notOpened++,
    },
    {
      open: (path) => {
        sockets.push(new FakeSocket(path))
        return socket() as unknown as WebSocket
      },
      poll: (path) => {
        polledPath = path
        sockets.push(new FakeSocket('poll'))
        return socket() as unknown as WebSocket
      },
      isReady: () => Promise.resolve(ready),
      now: () => Date.now(),
      random: () => 0.5,
    },
  )
  stream.start()
  return () => stream.stop()
})

async function goLive(seq = 10) {
  socket().say(hello(seq))
  snapshots[0]?.resolve(undefined)
  await settle()
}

describe('Stream', () => {
  it('loads a snapshot first and buffers frames that arrive meanwhile', async () => {
    expect(socket().path).toBe('/stream?v=2')
    socket().say(hello(10))
    expect(phase()).toBe('catching-up')
    socket().say(event(11), event(12))
    expect(got).toEqual([])
    snapshots[0]?.resolve(undefined)
    await settle()
    expect(got).toEqual([11, 12])
    expect(phase()).toBe('live')
    socket().say(event(13))
    expect(got).toEqual([11, 12, 13])
  })

  it('resumes without duplicates, gaps or a second snapshot', async () => {
    await goLive()
    socket().say(event(11), event(12))
    socket().die()
    expect(phase()).toBe('waiting')
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().path).toBe('/stream?v=2&after=12&hub=h1')
    socket().say(hello(15))
    expect(states.at(-1)).toEqual({ phase: 'catching-up', behind: 3 })
    socket().say(event(12), event(13), event(14), event(15))
    expect(got).toEqual([11, 12, 13, 14, 15])
    expect(phase()).toBe('live')
    expect(snapshots).toHaveLength(1)
  })

  it('polls if the hub answers requests, but nothing comes over WebSockets', async () => {
    ready = false
    socket().die()
    await vi.advanceTimersByTimeAsync(300)
    socket().die()
    await vi.advanceTimersByTimeAsync(600)
    expect(socket().path).toBe('/stream?v=2')
    ready = true
    socket().die()
    await vi.advanceTimersByTimeAsync(1200)
    expect(socket().path).toBe('/stream?v=2')
    socket().die()
    await vi.advanceTimersByTimeAsync(2400)
    expect(socket().path).toBe('poll')
    expect(polledPath()).toBe('/stream?v=2&poll=start')

    socket().say(hello(10), { type: 'heartbeat', data: { serverTime: 1, poll: '1.2.a' } })
    snapshots[0]?.resolve(undefined)
    await settle()
    expect(states.at(-1)).toMatchObject({ phase: 'live', polling: true })
    socket().say(event(11))
    expect(got).toEqual([11])
    expect(polledPath()).toBe('/stream?v=2&after=11&hub=h1&poll=1.2.a')

    socket().die()
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().path).toBe('/stream?v=2&after=11&hub=h1')
    socket().say(hello(11))
    expect(states.at(-1)).toMatchObject({ phase: 'live', polling: false })
  })

  it('resumes with the epoch of its last frame', async () => {
    const restarted = { type: 'hello', data: { hubId: 'h1', seq: 10, epoch: 'c' } }
    socket().say({ type: 'hello', data: { hubId: 'h1', seq: 10, epoch: 'a b' } })
    snapshots[0]?.resolve(undefined)
    await settle()
    for (let n = 0; n < 2; n++) {
      socket().die()
      await vi.advanceTimersByTimeAsync(300)
      // A hello may be followed by a resync that got lost.
      expect(socket().path).toBe('/stream?v=2&after=10&hub=h1&epoch=a+b')
      socket().say(restarted)
    }
    socket().say(event(11))
    socket().die()
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().path).toBe('/stream?v=2&after=11&hub=h1&epoch=c')
    socket().say(restarted, { type: 'resync', data: { hubId: 'h1', seq: 7, epoch: 'd' } })
    socket().die()
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().path).toBe('/stream?v=2&after=7&hub=h1&epoch=d')
  })

  it('backs off up to 15 s, and resets after connecting', async () => {
    await goLive()
    const waits: number[] = []
    for (let i = 0; i < 8; i++) {
      socket().die()
      const state = states.at(-1)
      if (state?.phase !== 'waiting') throw new Error('should wait')
      waits.push(state.retryAt - Date.now())
      await vi.advanceTimersByTimeAsync(waits.at(-1) ?? 0)
    }
    expect(waits).toEqual([300, 600, 1200, 2400, 4800, 9600, 15_000, 15_000])
    socket().say(hello(10))
    socket().die()
    expect(states.at(-1)).toMatchObject({ attempt: 1 })
  })

  it('connects immediately when the network or the user returns', async () => {
    await goLive()
    socket().die()
    const before = sockets.length
    window.dispatchEvent(new Event('online'))
    expect(sockets).toHaveLength(before + 1)
    window.dispatchEvent(new Event('online'))
    expect(sockets).toHaveLength(before + 1)
  })

  it('reloads everything on resync or if the hub was replaced', async () => {
    await goLive()
    socket().say({ type: 'resync', data: { hubId: 'h2', seq: 3, serverTime: 0, version: 'x' } }, event(4))
    expect(replaced).toBe(1)
    snapshots[1]?.resolve(undefined)
    await settle()
    expect(got).toEqual([4])
    socket().die()
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().path).toBe('/stream?v=2&after=4&hub=h2')
    socket().say(hello(9, 'h3'))
    expect(replaced).toBe(2)
    expect(snapshots).toHaveLength(3)
  })

  it('retries a failed snapshot', async () => {
    socket().say(hello(10))
    snapshots[0]?.reject(new Error('gone'))
    await settle()
    expect(phase()).toBe('waiting')
    await vi.advanceTimersByTimeAsync(300)
    socket().say(hello(12))
    expect(snapshots).toHaveLength(2)
    snapshots[1]?.resolve(undefined)
    await settle()
    expect(states.some((s) => s.phase === 'live')).toBe(false)
    socket().say(event(11), event(12))
    expect(phase()).toBe('live')
  })

  it('reports the number of missed events and a hub restart after reconnecting', async () => {
    await goLive()
    expect(states.at(-1)).toEqual({ phase: 'live', since: Date.now(), back: undefined, polling: false })
    socket().die(1012)
    expect(states.at(-1)).toMatchObject({ phase: 'waiting', attempt: 1, restarting: true })
    await vi.advanceTimersByTimeAsync(300)
    socket().die() // not up yet
    expect(states.at(-1)).toMatchObject({ attempt: 2, restarting: true })
    await vi.advanceTimersByTimeAsync(600)
    socket().say(hello(12))
    socket().say(event(11), event(12))
    expect(states.at(-1)).toMatchObject({ phase: 'live', back: { missed: 2, restarted: true } })
    socket().die()
    expect(states.at(-1)).toMatchObject({ restarting: false })
    await vi.advanceTimersByTimeAsync(300)
    socket().say(hello(12))
    expect(states.at(-1)).toMatchObject({ phase: 'live', back: { missed: 0, restarted: false } })
  })

  it('reports the viewed request on every connection, and receives other viewers', async () => {
    vi.spyOn(document, 'hasFocus').mockReturnValue(false)
    await goLive()
    expect(socket().sent).toEqual([])
    stream.reportViewing(7)
    expect(socket().sent).toEqual([{ type: 'looking', id: 7 }])
    socket().die()
    stream.reportViewing(8) // disconnected, so nothing is sent
    await vi.advanceTimersByTimeAsync(300)
    expect(socket().sent).toEqual([])
    socket().say(hello(10))
    expect(socket().sent).toEqual([{ type: 'looking', id: 8 }])
    const presence = { screens: 2, looking: [{ id: 8, screens: 2 }] }
    socket().say({ type: 'presence', data: presence }, event(11))
    expect(said).toEqual([presence])
    expect(got).toEqual([11])
  })

  it('reports focus changes, and repeats while focused', async () => {
    const here = vi.spyOn(document, 'hasFocus').mockReturnValue(false)
    await goLive()
    stream.reportViewing(0)
    window.dispatchEvent(new Event('blur')) // nothing new
    here.mockReturnValue(true)
    window.dispatchEvent(new Event('focus'))
    await vi.advanceTimersByTimeAsync(25_000)
    socket().say(heartbeat)
    here.mockReturnValue(false)
    window.dispatchEvent(new Event('blur'))
    for (let i = 0; i < 2; i++) {
      await vi.advanceTimersByTimeAsync(30_000)
      socket().say(heartbeat)
    }
    const away = { type: 'looking', id: 0 }
    expect(socket().sent).toEqual([away, { ...away, focused: true }, { ...away, focused: true }, away])
    here.mockRestore()
  })

  it('reports the end of the sign-in and reconnects', async () => {
    await goLive()
    socket().die(1006)
    await vi.advanceTimersByTimeAsync(300)
    expect(signedOut).toBe(0)
    socket().die(4401)
    expect(signedOut).toBe(1)
    expect(notOpened).toBe(0)
    await vi.advanceTimersByTimeAsync(600)
    expect(sockets).toHaveLength(3)
    socket().die(1006)
    expect(notOpened).toBe(1)
  })

  it('reconnects after sign-in without missing events', async () => {
    await goLive()
    const old = socket()
    stream.renew()
    expect(old.closed).toBe(true)
    expect(socket().path).toBe('/stream?v=2&after=10&hub=h1')
    socket().say(hello(11), event(11))
    expect(got).toEqual([11])
    expect(states.at(-1)).toMatchObject({ phase: 'live', back: undefined })
    stream.stop()
    stream.renew()
    expect(sockets).toHaveLength(2)
  })

  it('replaces a connection without a heartbeat for 35 s', async () => {
    await goLive()
    await vi.advanceTimersByTimeAsync(30_000)
    socket().say(heartbeat)
    await vi.advanceTimersByTimeAsync(30_000)
    expect(sockets).toHaveLength(1)
    expect(phase()).toBe('live')
    await vi.advanceTimersByTimeAsync(11_000)
    expect(sockets[0]?.closed).toBe(true)
    expect(socket().path).toBe('/stream?v=2&after=10&hub=h1')
    socket().say(hello(11), event(11))
    expect(got).toEqual([11])
    expect(states.at(-1)).toMatchObject({ phase: 'live', back: { missed: 1 } })
  })

  it('replaces a silent connection when the person returns, after sleep, and when the network changes', async () => {
    await goLive()
    await vi.advanceTimersByTimeAsync(15_000)
    dispatchEvent(new Event('focus'))
    await vi.advanceTimersByTimeAsync(500)
    expect(sockets).toHaveLength(1)
    dispatchEvent(new Event('online'))
    await vi.advanceTimersByTimeAsync(500)
    expect(sockets).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(21_000)
    dispatchEvent(new Event('pageshow'))
    await vi.advanceTimersByTimeAsync(700)
    expect(sockets).toHaveLength(3)
    vi.setSystemTime(Date.now() + 3_600_000) // asleep: timers did not run
    await vi.advanceTimersByTimeAsync(7_000)
    expect(sockets).toHaveLength(4)
  })

  it('ignores frames of an old socket', async () => {
    await goLive()
    const old = socket()
    old.die()
    old.say(event(11))
    expect(got).toEqual([])
    expect(old.closed).toBe(true)
  })

  it('does nothing after stop', async () => {
    await goLive()
    stream.stop()
    socket().die()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(sockets).toHaveLength(1)
  })
})
