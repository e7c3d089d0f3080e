import { beforeEach, describe, expect, test, vi } from 'vitest'
import { defaults, type Preferences } from '../page/preferences'
import { toRequest, type Request } from '../stream/requests'
import { aRequest } from '../../testing/factories'
import type { HumanInTheLoop, Status } from '../api/types'
import { Chime, type AudioOutput } from './sound'
import { TabLeader } from './tabLeader'
import { DesktopAlerts, type DesktopEnvironment } from './desktopAlerts'
import { SeenAlerts } from './alertDedup'
import { plainLine } from './alertFilter'

/** A fake of the browser's Notification. */
class FakeNotification {
  closed = false
  onclick: (() => void) | null = null
  onclose: (() => void) | null = null
  constructor(
    readonly title: string,
    readonly options: NotificationOptions,
  ) {}
  get tag() {
    return this.options.tag
  }
  close() {
    this.closed = true
    this.onclose?.()
  }
}

let requests: Map<number, Request>
let shown: FakeNotification[]
let played: string[]
let visited: number[]
let p: Preferences
let environment: { permission: NotificationPermission; isFocused: boolean; now: number }
let leader: TabLeader
let alerts: DesktopAlerts

const ask = (id: number, question: Partial<HumanInTheLoop> = {}, status: Partial<Status> = {}) => {
  const request = toRequest(aRequest(id, question, status)) as Request
  requests.set(id, request)
  return request
}

beforeEach(() => {
  requests = new Map()
  shown = []
  played = []
  visited = []
  p = { ...defaults(), notify: true, sound: true }
  environment = { permission: 'granted', isFocused: false, now: 1_700_000_000_000 }
  leader = new TabLeader(undefined)
  leader.isLeader = true
  alerts = make()
})

function make(): DesktopAlerts {
  const desktop: DesktopEnvironment = {
    permission: () => environment.permission,
    show: (title, options) => {
      const notification = new FakeNotification(title, options)
      shown.push(notification)
      return notification as unknown as Notification
    },
    isFocused: () => environment.isFocused,
    now: () => environment.now,
  }
  const chime = { play: (which: string) => (played.push(which), Promise.resolve(true)) }
  const page = {
    preferences: () => p,
    hubId: () => 'hub',
    request: (id: number) => requests.get(id),
    visit: (id: number) => void visited.push(id),
  }
  return new DesktopAlerts(page, {
    desktop,
    leader,
    chime: chime as unknown as Chime,
    seenAlerts: new SeenAlerts(),
  })
}

describe('DesktopAlerts', () => {
  test('shows a request with sound until it is settled', () => {
    alerts.handle({ kind: 'asked', request: ask(7, { question: 'Delete\u202e ./build?\nReally' }) })
    expect(shown[0]).toMatchObject({
      title: 'api asks',
      options: { tag: 'req-7', body: 'Delete ./build? Really' },
    })
    expect(played).toEqual(['asked'])
    alerts.closeSettled()
    expect(shown[0]?.closed).toBe(false)
    ask(7, {}, { status: 'responded' })
    alerts.closeSettled()
    expect(shown[0]?.closed).toBe(true)
  })

  test('is silent about test requests', () => {
    alerts.handle({ kind: 'asked', request: ask(1, {}, { test: true }) })
    expect([shown.length, played.length]).toEqual([0, 0])
  })

  test('opens the request on click', () => {
    const focus = vi.spyOn(window, 'focus').mockImplementation(() => undefined)
    alerts.handle({ kind: 'asked', request: ask(7) })
    shown[0]?.onclick?.()
    expect(visited).toEqual([7])
    expect(focus).toHaveBeenCalled()
    expect(shown[0]?.closed).toBe(true)
  })

  test.each<[string, () => void, number, number]>([
    ['this tab is not the leader', () => (leader.isLeader = false), 0, 0],
    ['alerts are muted', () => (p.mutedUntil = environment.now + 1), 0, 0],
    ['the mute has ended', () => (p.mutedUntil = environment.now), 1, 1],
    ['the kind is not selected', () => (p.notifyKinds = ['choice']), 0, 0],
    ['the risk is too low', () => (p.notifyRisk = 'medium'), 0, 0],
    ['the tab is focused', () => (environment.isFocused = true), 0, 1],
    ['the browser forbids it', () => (environment.permission = 'denied'), 0, 1],
    ['notifications are off', () => (p.notify = false), 0, 1],
    ['the sound is off', () => (p.sound = false), 1, 0],
  ])('alerts by notification and sound if %s', (_, given, notifications, sounds) => {
    given()
    alerts.handle({ kind: 'asked', request: ask(1) })
    expect([shown.length, played.length]).toEqual([notifications, sounds])
  })

  test('compares the risk assessed by the hub', () => {
    p.notifyRisk = 'high'
    alerts.handle({ kind: 'asked', request: ask(1, { risk: 'low' }, { risk: 'critical' }) })
    alerts.handle({ kind: 'asked', request: ask(2, { risk: 'high' }) })
    alerts.handle({ kind: 'asked', request: ask(3, {}, { risk: 'medium' }) })
    expect(shown.map((n) => n.tag)).toEqual(['req-1', 'req-2'])
  })

  test('alerts once, even if another tab becomes the leader', () => {
    const request = ask(1)
    alerts.handle({ kind: 'asked', request })
    alerts.handle({ kind: 'asked', request })
    make().handle({ kind: 'asked', request })
    expect([shown.length, played.length]).toEqual([1, 1])
    localStorage.setItem('hookback.told', '{"not":"a list"}')
    make().handle({ kind: 'asked', request: ask(2) })
    expect(shown).toHaveLength(2)
  })
})

test('DesktopAlerts reports undelivered answers if enabled', () => {
  const request = ask(1, {}, { status: 'responded', delivery: { state: 'refused' } as Status['delivery'] })
  p.notifyLost = false
  alerts.handle({ kind: 'lost', request })
  expect(shown).toEqual([])
  p.notifyLost = true
  alerts.handle({ kind: 'lost', request })
  expect(shown[0]).toMatchObject({ title: 'Your answer did not reach api', options: { tag: 'lost-1' } })
  alerts.closeSettled()
  expect(shown[0]?.closed).toBe(false)
})

test('DesktopAlerts closes its notifications on pagehide', () => {
  const stop = alerts.start()
  leader.isLeader = true
  alerts.handle({ kind: 'asked', request: ask(1) })
  window.dispatchEvent(new Event('pagehide'))
  expect(shown[0]?.closed).toBe(true)
  stop()
})

test.each([
  ['short', 'short'],
  ['two\n\tlines', 'two lines'],
  ['x'.repeat(30), 'xxxxxxxxx…'],
  ['a\u0000b\u200bc', 'a b c'],
  ['😀'.repeat(20), '😀'.repeat(9) + '…'],
  ['<b>bold</b>', '<b>bold</…'],
])('plainLine(%j) is %j', (text, seen) => expect(plainLine(text, 10)).toBe(seen))

describe('TabLeader', () => {
  /** A fake of the Web Locks API: one holder, a queue, and stealing. */
  class Locks {
    private holder: { lost: (e: Error) => void } | undefined
    private queue: (() => void)[] = []
    request(_: string, options: LockOptions, held: () => Promise<void>): Promise<void> {
      return new Promise((done, lost) => {
        const hold = () => {
          const mine = { lost }
          this.holder = mine
          void held().then(() => {
            if (this.holder === mine) this.holder = undefined
            done()
            if (!this.holder) this.queue.shift()?.()
          })
        }
        if (options.steal) {
          const before = this.holder
          hold()
          before?.lost(new Error('stolen'))
        } else if (this.holder) this.queue.push(hold)
        else hold()
      })
    }
  }

  test('elects the last focused tab, and another one when it stops', async () => {
    vi.spyOn(document, 'hasFocus').mockReturnValue(false)
    const locks = new Locks() as unknown as LockManager
    const [here, there] = [new EventTarget() as Window, new EventTarget() as Window]
    const [a, b] = [new TabLeader(locks), new TabLeader(locks)]
    const stopA = a.start(here)
    const stopB = b.start(there)
    expect([a.isLeader, b.isLeader]).toEqual([true, false])
    there.dispatchEvent(new Event('focus'))
    await vi.waitFor(() => expect([a.isLeader, b.isLeader]).toEqual([false, true]))
    stopB()
    await vi.waitFor(() => expect([a.isLeader, b.isLeader]).toEqual([true, false]))
    stopA()
    expect(a.isLeader).toBe(false)
  })
})

describe('Chime', () => {
  const audio = (state: AudioContextState) => {
    const starts: number[] = []
    const gains: number[] = []
    const param = { value: 0, setValueAtTime: vi.fn(), exponentialRampToValueAtTime: vi.fn() }
    const context = {
      state,
      currentTime: 1,
      destination: {},
      resume: vi.fn(() =>
        state === 'closed' ? Promise.reject(new Error()) : new Promise<void>(() => undefined),
      ),
      createOscillator: () => ({
        frequency: { value: 0 },
        connect: vi.fn(),
        start: (at: number) => starts.push(at),
        stop: vi.fn(),
      }),
      createGain: () => ({
        gain: { ...param, linearRampToValueAtTime: (to: number) => gains.push(to) },
        connect: vi.fn(),
      }),
    }
    return { context: context as unknown as AudioOutput, starts, gains, resume: context.resume }
  }

  test('plays two soft notes', async () => {
    const { context, starts, gains } = audio('running')
    expect(await new Chime(() => context).play()).toBe(true)
    expect(starts).toHaveLength(2)
    expect(starts[1]).toBeGreaterThan(starts[0] ?? 0)
    expect(gains).toEqual([0.2, 0.2])
  })

  test('drops the sound while the browser blocks it', async () => {
    vi.useFakeTimers()
    const { context, starts, resume } = audio('suspended')
    const played = new Chime(() => context).play()
    await vi.advanceTimersByTimeAsync(200)
    expect(await played).toBe(false)
    expect(resume).toHaveBeenCalled()
    expect(starts).toEqual([])
  })
})
