import { expect, test } from 'vitest'
import { ShortcutDispatcher } from './shortcuts'

/** What a key types, its place, the modifiers, and the binding that runs; '' for none. */
type Press = [key: string, code: string, modifiers: KeyboardEventInit, binding: string]

const plain = {}
const shift = { shiftKey: true }
const ctrl = { ctrlKey: true }
const altGr = { modifierAltGraph: true } // on Linux
const ctrlAlt = { ctrlKey: true, altKey: true, modifierAltGraph: true } // AltGr on Windows

const layouts: Record<string, Press[]> = {
  US: [
    ['a', 'KeyA', plain, 'a'],
    ['A', 'KeyA', plain, 'a'], // Caps Lock
    ['D', 'KeyD', shift, 'Shift+D'],
    ['1', 'Digit1', plain, '1'],
    ['!', 'Digit1', shift, '1'],
    ['1', 'Numpad1', plain, '1'],
    ['End', 'Numpad1', plain, ''], // no Num Lock
    ['/', 'Slash', plain, '/'],
    ['?', 'Slash', shift, '?'],
    ['k', 'KeyK', ctrl, '$mod+k'],
    ['a', 'KeyA', ctrl, ''],
    ['a', 'KeyA', { metaKey: true }, ''],
    ['å', 'KeyA', { altKey: true }, ''],
  ],
  Dvorak: [
    ['d', 'KeyH', plain, 'd'],
    ['e', 'KeyD', plain, ''],
    ["'", 'KeyQ', plain, ''],
    ['.', 'KeyE', plain, '.'],
    ['/', 'BracketLeft', plain, '/'],
    ['k', 'KeyV', ctrl, '$mod+k'],
    ['t', 'KeyK', ctrl, ''],
  ],
  French: [
    ['a', 'KeyQ', plain, 'a'],
    ['q', 'KeyA', plain, 'q'],
    ['&', 'Digit1', plain, '1'],
    ['1', 'Digit1', shift, '1'],
    ['é', 'Digit2', plain, '2'],
    ['/', 'Period', shift, '/'],
    ['.', 'Comma', shift, '.'],
    ['?', 'KeyM', shift, '?'],
  ],
  German: [
    ['/', 'Digit7', shift, '/'],
    ['7', 'Digit7', plain, '7'],
    ['"', 'Digit2', shift, '2'],
    ['?', 'Minus', shift, '?'],
    ['@', 'KeyQ', ctrlAlt, ''],
    ['æ', 'KeyA', altGr, ''],
    ['ö', 'Semicolon', plain, ''],
  ],
  Czech: [
    ['+', 'Digit1', plain, '1'],
    ['2', 'Digit2', shift, '2'],
    ['ý', 'Digit7', plain, '7'],
    ['/', 'BracketLeft', shift, '/'],
    ['?', 'Comma', shift, '?'],
  ],
  Russian: [
    ['ф', 'KeyA', plain, 'a'],
    ['В', 'KeyD', shift, 'Shift+D'],
    ['л', 'KeyK', ctrl, '$mod+k'],
    ['.', 'Slash', plain, '.'],
    ['/', 'Backslash', shift, '/'],
    ['?', 'Digit7', shift, '?'],
    ['7', 'Digit7', plain, '7'],
  ],
  Greek: [
    ['α', 'KeyA', plain, 'a'],
    ['Δ', 'KeyD', shift, 'Shift+D'],
    [';', 'KeyQ', plain, 'q'],
    ['/', 'Slash', plain, '/'],
  ],
  Hebrew: [
    ['ש', 'KeyA', plain, 'a'],
    ["'", 'KeyW', plain, 'w'],
    ['/', 'KeyQ', plain, '/'],
    ['.', 'Slash', plain, '.'],
  ],
  Turkish: [
    ['a', 'KeyA', plain, 'a'],
    ['/', 'Digit7', shift, '/'],
    ['ü', 'KeyD', plain, ''], // of the layout F: a Latin letter counts as itself
  ],
  Vietnamese: [
    ['ă', 'Digit1', plain, '1'],
    ['Dead', 'Digit5', plain, '5'],
  ],
}

function start() {
  const ran: string[] = []
  const shortcuts = new ShortcutDispatcher({
    now: () => 0,
    hasFocus: () => true,
    enabled: () => true,
    painted: (fn) => fn(),
  })
  const keys = ['a', 'd', 'q', 'w', 'Shift+D', ...'123456789/?.', 'g ,', '$mod+k']
  shortcuts.push({ bindings: () => keys.map((k) => ({ keys: k, run: () => ran.push(k) })) })
  const press = ([key, code, modifiers]: Press) =>
    shortcuts.keydown(new KeyboardEvent('keydown', { key, code, cancelable: true, ...modifiers }))
  return { ran, press }
}

test.each(Object.entries(layouts))('shortcuts work on the layout %s', (_, presses) => {
  const { ran, press } = start()
  for (const one of presses) {
    press(one)
    expect([one[0], one[1], ran.pop() ?? '']).toEqual([one[0], one[1], one[3]])
    expect(ran).toEqual([])
  }
})

test('a sequence may need Shift for its second key', () => {
  const { ran, press } = start()
  press(['п', 'KeyG', plain, ''])
  press(['Shift', 'ShiftLeft', shift, ''])
  press([',', 'Slash', shift, ''])
  expect(ran).toEqual(['g ,'])
})
