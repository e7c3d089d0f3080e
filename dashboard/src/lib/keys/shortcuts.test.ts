import { beforeEach, describe, expect, it, vi } from 'vitest'
import { CLICK_GUARD, GRACE, HOLD, ShortcutDispatcher, type Binding } from './shortcuts'

let now = 0
let focused = true
let enabled = true
let keys: ShortcutDispatcher
let ran: string[]
let painted: (fn: () => void) => void

const press = (key: string, more: Partial<KeyboardEventInit> & { target?: EventTarget } = {}) => {
  const e = new KeyboardEvent('keydown', { key, cancelable: true, ...more })
  if (more.target) Object.defineProperty(e, 'target', { value: more.target })
  keys.keydown(e)
  return e
}
const lift = (key: string, code = '') => keys.keyup(new KeyboardEvent('keyup', { key, code }))
const bind = (...bindings: (Partial<Binding> & { keys: string })[]) =>
  keys.push({ bindings: () => bindings.map((b) => ({ run: () => ran.push(b.keys), ...b })) })

beforeEach(() => {
  ;[now, focused, enabled, ran] = [10_000, true, true, []]
  painted = (fn) => fn()
  keys = new ShortcutDispatcher({
    now: () => now,
    hasFocus: () => focused,
    enabled: () => enabled,
    painted: (fn) => painted(fn),
  })
})

describe('Shortcut', () => {
  it('runs its action', () => {
    bind({ keys: 'a' }, { keys: 'Shift+D' })
    press('a')
    press('D', { shiftKey: true })
    expect(ran).toEqual(['a', 'Shift+D'])
  })

  it('ignores a press with other modifiers', () => {
    bind({ keys: 'a' })
    press('a', { ctrlKey: true })
    press('a', { metaKey: true })
    press('a', { altKey: true })
    expect(ran).toEqual([])
  })

  it('does nothing on repeats, without page focus, or if disabled', () => {
    bind({ keys: 'a' })
    focused = false
    press('a')
    focused = true
    press('a', { repeat: true })
    enabled = false
    press('a')
    expect(ran).toEqual([])
  })

  it('does nothing in a text field, except for sending', () => {
    bind({ keys: 'a' }, { keys: '$mod+Enter', inFields: true })
    const target = document.createElement('textarea')
    press('a', { target })
    press('Enter', { target, ctrlKey: true })
    expect(ran).toEqual(['$mod+Enter'])
  })

  it('works in an empty field by the typed character, and never with Alt', () => {
    bind({ keys: '1', emptyField: 'textarea.reason' }, { keys: '$mod+Enter', inFields: true })
    const target = document.createElement('textarea')
    press('1', { target })
    target.className = 'reason'
    press('#', { target, code: 'Digit1', altKey: true })
    press('&', { target, code: 'Digit1' })
    press('!', { target, code: 'Digit1', shiftKey: true })
    press('Enter', { target, ctrlKey: true, altKey: true })
    expect(ran).toEqual([])
    press('1', { target, code: 'Digit1', shiftKey: true })
    target.value = ' '
    press('1', { target })
    expect(ran).toEqual(['1'])
  })

  it('leaves Space and Enter to a focused button', () => {
    bind({ keys: 'Space' }, { keys: '$mod+Enter', inFields: true })
    const target = document.createElement('button')
    expect(press(' ', { target }).defaultPrevented).toBe(false)
    press('Enter', { target, ctrlKey: true })
    press(' ', { code: 'Space' })
    expect(ran).toEqual(['$mod+Enter', 'Space'])
  })

  it('runs while a checkbox is focused', () => {
    bind({ keys: 'a' })
    const target = document.createElement('input')
    target.type = 'checkbox'
    press('a', { target })
    expect(ran).toEqual(['a'])
  })

  it('runs in the topmost scope, and never below a dialog', () => {
    bind({ keys: 'a', run: () => ran.push('below') }, { keys: 'b', run: () => ran.push('b below') })
    const pop = keys.push({ bindings: () => [{ keys: 'a', run: () => ran.push('above') }] })
    press('a')
    press('b')
    const popDialog = keys.push({ bindings: () => [], modal: true })
    press('a')
    popDialog()
    pop()
    press('a')
    expect(ran).toEqual(['above', 'b below', 'below'])
  })

  it('can be a sequence', () => {
    bind({ keys: 'g i' })
    press('g')
    press('i')
    expect(ran).toEqual(['g i'])
  })

  it('can follow another sequence immediately', () => {
    bind({ keys: 'g o' }, { keys: 'g ,' })
    for (const key of 'gog,') press(key)
    expect(ran).toEqual(['g o', 'g ,'])
  })

  it('continues a sequence if a scope opens or closes in between, but not after a dialog', () => {
    bind({ keys: 'g i' })
    press('g')
    const pop = keys.push({ bindings: () => [] })
    press('i')
    press('g')
    pop()
    press('i')
    expect(ran).toEqual(['g i', 'g i'])
    press('g')
    keys.push({ bindings: () => [], modal: true })()
    press('i')
    expect(ran).toEqual(['g i', 'g i'])
  })
})

describe('Approval key', () => {
  it('is ignored after the request changes by itself, and each press restarts the grace period', () => {
    bind({ keys: 'a', decides: true }, { keys: 'j' })
    keys.startGrace()
    now += GRACE - 1
    press('a')
    now += GRACE - 1
    press('a')
    expect(ran).toEqual([])
    press('j')
    expect(ran).toEqual(['j'])
    now += GRACE
    press('a')
    expect(ran).toEqual(['j', 'a'])
  })

  it('is ignored until the new request was on the screen for the grace period', () => {
    const frames: (() => void)[] = []
    painted = (fn) => frames.push(fn)
    bind({ keys: 'a', decides: true })
    keys.startGrace()
    now += GRACE * 4
    press('a') // a new grace period: two frames wait
    for (const paint of frames) paint()
    now += GRACE - 1
    press('a')
    expect(ran).toEqual([])
    frames.at(-1)?.()
    now += GRACE
    press('a')
    expect(ran).toEqual(['a'])
  })

  it('is ignored when the answers appear late, but not if the person selected the request', () => {
    bind({ keys: 'a', decides: true })
    keys.startGrace()
    now += GRACE
    keys.appeared()
    press('a')
    expect(ran).toEqual([])
    keys.endGrace()
    keys.appeared()
    press('a')
    expect(ran).toEqual(['a'])
  })

  it('runs immediately if the user selected the request', () => {
    bind({ keys: 'a', decides: true })
    keys.startGrace()
    keys.endGrace()
    press('a')
    expect(ran).toEqual(['a'])
  })

  it('first scrolls to a request that is not visible', () => {
    let hidden = true
    keys.reveal = () => {
      const was = hidden
      hidden = false
      return was
    }
    bind({ keys: 'a', decides: true }, { keys: 'd', decides: true, opens: true })
    press('a')
    expect(ran).toEqual([])
    press('a')
    hidden = true
    press('d')
    expect(ran).toEqual(['a', 'd'])
  })

  it('requires a hold if risky; a tap does nothing', () => {
    vi.useFakeTimers()
    const shown: boolean[] = []
    keys.onHold = (active) => shown.push(active)
    bind({ keys: 'a', decides: true, hold: true })
    press('a')
    vi.advanceTimersByTime(HOLD - 1)
    lift('a')
    vi.advanceTimersByTime(HOLD)
    expect(ran).toEqual([])
    press('a')
    vi.advanceTimersByTime(HOLD)
    expect(ran).toEqual(['a'])
    expect(shown).toEqual([true, false, true, false])
  })

  it('ends a hold with its key, even if Shift is released first', () => {
    vi.useFakeTimers()
    bind({ keys: '2', decides: true, hold: true })
    press('2', { code: 'Digit2', shiftKey: true })
    lift('Shift', 'ShiftLeft')
    lift('é', 'Digit2')
    vi.advanceTimersByTime(HOLD)
    expect(ran).toEqual([])
  })

  it('cancels a hold if the request changes', () => {
    vi.useFakeTimers()
    bind({ keys: 'a', decides: true, hold: true })
    press('a')
    keys.startGrace()
    vi.advanceTimersByTime(HOLD * 2)
    expect(ran).toEqual([])
  })
})

describe('Click', () => {
  it('does not decide if it only focuses the window', () => {
    keys.windowFocused()
    now += CLICK_GUARD - 1
    keys.pointerPressed()
    now += 1000
    expect(keys.allowsClick()).toBe(false)
    keys.pointerPressed()
    expect(keys.allowsClick()).toBe(true)
  })

  it('does not answer the next request as part of a double click', () => {
    keys.startGrace()
    now += 150
    expect(keys.allowsClick()).toBe(false)
    now += GRACE
    expect(keys.allowsClick()).toBe(true)
  })
})

describe('Active bindings', () => {
  it('are those of the open screen, and none below a dialog', () => {
    bind({ keys: 'g i' })
    bind({ keys: 'a' })
    expect(keys.active().map((b) => b.keys)).toEqual(['a', 'g i'])
    const close = keys.push({ bindings: () => [], modal: true })
    expect(keys.active()).toEqual([])
    close()
    expect(keys.active()).toHaveLength(2)
  })
})
