import { beforeEach, describe, expect, it, vi } from 'vitest'
import { CLICK_GUARD, GRACE, ShortcutDispatcher, type Binding } from './shortcuts'

const HOLD = 700

let now = 0
let focused = true
let enabled = true
let keys: ShortcutDispatcher
let ran: string[]

const press = (key: string, more: Partial<KeyboardEventInit> & { target?: EventTarget } = {}) => {
  const e = new KeyboardEvent('keydown', { key, cancelable: true, ...more })
  if (more.target) Object.defineProperty(e, 'target', { value: more.target })
  keys.keydown(e)
  return e
}
const lift = (key: string) => keys.keyup(new KeyboardEvent('keyup', { key }))
const bind = (...bindings: (Partial<Binding> & { keys: string })[]) =>
  keys.push({ bindings: () => bindings.map((b) => ({ run: () => ran.push(b.keys), ...b })) })

beforeEach(() => {
  ;[now, focused, enabled, ran] = [10_000, true, true, []]
  keys = new ShortcutDispatcher({ now: () => now, hasFocus: () => focused, enabled: () => enabled })
})

describe('a key', () => {
  it('acts', () => {
    bind({ keys: 'a' }, { keys: 'Shift+D' })
    press('a')
    press('D', { shiftKey: true })
    expect(ran).toEqual(['a', 'Shift+D'])
  })

  it('does nothing with a modifier it does not name', () => {
    bind({ keys: 'a' })
    press('a', { ctrlKey: true })
    press('a', { metaKey: true })
    press('a', { altKey: true })
    expect(ran).toEqual([])
  })

  it('does nothing while the page lacks the focus, repeats, or is switched off', () => {
    bind({ keys: 'a' })
    focused = false
    press('a')
    focused = true
    press('a', { repeat: true })
    enabled = false
    press('a')
    expect(ran).toEqual([])
  })

  it('does nothing in a field, but sends from there', () => {
    bind({ keys: 'a' }, { keys: '$mod+Enter', inFields: true })
    const target = document.createElement('textarea')
    press('a', { target })
    press('Enter', { target, ctrlKey: true })
    expect(ran).toEqual(['$mod+Enter'])
  })

  it('leaves Space and Enter to the button that has the focus', () => {
    bind({ keys: 'Space' }, { keys: '$mod+Enter', inFields: true })
    const target = document.createElement('button')
    expect(press(' ', { target }).defaultPrevented).toBe(false)
    press('Enter', { target, ctrlKey: true })
    press(' ', { code: 'Space' })
    expect(ran).toEqual(['$mod+Enter', 'Space'])
  })

  it('acts on a ticked box: nothing is typed there', () => {
    bind({ keys: 'a' })
    const target = document.createElement('input')
    target.type = 'checkbox'
    press('a', { target })
    expect(ran).toEqual(['a'])
  })

  it('goes to the topmost scope, and to none below a dialog', () => {
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

  it('may be a sequence', () => {
    bind({ keys: 'g i' })
    press('g')
    press('i')
    expect(ran).toEqual(['g i'])
  })

  it('is followed by another sequence at once', () => {
    bind({ keys: 'g o' }, { keys: 'g ,' })
    for (const key of 'gog,') press(key)
    expect(ran).toEqual(['g o', 'g ,'])
  })

  it('goes on with a sequence when a part of the page came up or went in between, but not after a dialog', () => {
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

describe('a deciding key', () => {
  it('is dead after the request changed by itself, and each press starts that anew', () => {
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

  it('acts at once when the person chose the request', () => {
    bind({ keys: 'a', decides: true })
    keys.startGrace()
    keys.endGrace()
    press('a')
    expect(ran).toEqual(['a'])
  })

  it('first scrolls to a request out of sight', () => {
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

  it('must be held when it is risky: a tap does nothing', () => {
    vi.useFakeTimers()
    const shown: boolean[] = []
    keys.onHold = (going) => shown.push(going)
    bind({ keys: 'a', decides: true, hold: () => HOLD })
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

  it('is let go of when the request changes under it', () => {
    vi.useFakeTimers()
    bind({ keys: 'a', decides: true, hold: () => HOLD })
    press('a')
    keys.startGrace()
    vi.advanceTimersByTime(HOLD * 2)
    expect(ran).toEqual([])
  })
})

describe('a click', () => {
  it('that brings the window to the front decides nothing', () => {
    keys.windowFocused()
    now += CLICK_GUARD - 1
    keys.pointerPressed()
    now += 1000
    expect(keys.allowsClick()).toBe(false)
    keys.pointerPressed()
    expect(keys.allowsClick()).toBe(true)
  })

  it('that is the second half of a double click does not answer the next request', () => {
    keys.startGrace()
    now += 150
    expect(keys.allowsClick()).toBe(false)
    now += GRACE
    expect(keys.allowsClick()).toBe(true)
  })
})

describe('other keys than the usual ones', () => {
  it('act, held as long as the usual ones would be, and the usual ones no more', () => {
    vi.useFakeTimers()
    let chosen: Record<string, string> = { a: 'y' }
    keys = new ShortcutDispatcher({
      now: () => now,
      hasFocus: () => focused,
      enabled: () => enabled,
      remapped: (usual) => chosen[usual] ?? usual,
    })
    bind({ keys: 'a', decides: true, hold: () => HOLD }, { keys: 'g i' })
    press('a')
    vi.advanceTimersByTime(HOLD)
    expect(ran).toEqual([])
    press('y')
    vi.advanceTimersByTime(HOLD - 1)
    expect(ran).toEqual([])
    vi.advanceTimersByTime(1)
    expect(ran).toEqual(['a'])
    lift('y')
    chosen = { 'g i': 'Shift+I' }
    press('I', { shiftKey: true })
    press('a')
    vi.advanceTimersByTime(HOLD)
    expect(ran).toEqual(['a', 'g i', 'a'])
  })

  it('says which bindings act now: below a dialog, none', () => {
    bind({ keys: 'g i' })
    bind({ keys: 'a' })
    expect(keys.active().map((b) => b.keys)).toEqual(['a', 'g i'])
    const close = keys.push({ bindings: () => [], modal: true })
    expect(keys.active()).toEqual([])
    close()
    expect(keys.active()).toHaveLength(2)
  })
})
