import { describe, expect, test } from 'vitest'
import { capsOf, clash, inWords, keymap, keysOfPress, linesOf } from './keymap'
import { destinations } from './screens'

const components = import.meta.glob('./**/*.svelte', { query: '?raw', import: 'default', eager: true })
const sources = Object.values(components).map(String).join('\n')

test('every key of every screen is in the map, and nothing else is', () => {
  const used = new Set([...sources.matchAll(/\bkeys: '([^']+)'/g)].map((m) => m[1]))
  const elsewhere = new Set(['Shift+?', 'ArrowDown', 'ArrowUp'])
  const known = new Set(keymap.map((k) => k.keys))
  expect([...used].filter((k) => k && !known.has(k) && !elsewhere.has(k))).toEqual([])
  const places = new Set(['g i', 'g s', 'g e', 'g o', 'g r', 'g u', 'g ,'])
  expect([...known].filter((k) => !used.has(k) && !places.has(k))).toEqual([])
  expect(destinations.filter((d) => !places.has(d.keys))).toEqual([])
})

test('as they are, no two keys clash', () => {
  for (const { keys, fixed } of keymap) if (!fixed) expect(clash(keys, keys, {})).toBeUndefined()
})

describe('other keys', () => {
  test.each([
    ['v', 'a', {}, undefined],
    ['d', 'a', {}, 'D is taken: Deny with a reason.'],
    ['d', 'a', { d: 'n' }, undefined],
    ['n', 'a', { d: 'n' }, 'N is taken: Deny with a reason.'],
    ['g', 'a', {}, 'G begins G then I: To the inbox.'],
    ['3', 'a', {}, 'Digits choose answers.'],
    ['Shift+?', 'a', {}, '? shows the keys.'],
    ['Shift+D', 'a', {}, '⇧ D is taken: Deny at once.'],
  ])('%s for %s', (keys, usual, remap, why) => expect(clash(keys, usual, remap as never)).toBe(why))

  test.each([
    [{ key: 'y' }, 'y'],
    [{ key: 'Y', shiftKey: true }, 'Shift+Y'],
    [{ key: 'Y' }, 'y'], // Caps Lock
    [{ key: '!', shiftKey: true }, 'Shift+!'],
    [{ key: 'ö' }, 'ö'],
    [{ key: 'y', ctrlKey: true }, undefined],
    [{ key: 'Shift', shiftKey: true }, undefined],
    [{ key: ' ' }, undefined],
    [{ key: '+' }, undefined],
    [{ key: 'Enter' }, undefined],
  ])('a press of %j', (press, keys) => expect(keysOfPress(new KeyboardEvent('keydown', press))).toBe(keys))
})

test('the help says what the bindings are for, each once', () => {
  const run = () => undefined
  const lines = linesOf([
    { keys: 'a', run },
    { keys: 'Shift+?', run },
    { keys: '?', run },
    { keys: '1', run },
    { keys: '2', run },
    { keys: 'x', run, does: 'Mark it' },
    { keys: 'a', run },
    { keys: '$mod+F9', run },
  ])
  expect(lines.map((l) => [l.keys, l.does])).toEqual([
    ['a', 'Approve (hold when it is risky)'],
    ['?', 'Show the keys of this screen'],
    ['x', 'Mark it'],
    ['1 … 2', 'Choose an answer'],
  ])
})

test('keys are written as on their caps', () => {
  expect(capsOf('g i')).toEqual(['G', 'I'])
  expect(capsOf('Shift+D')).toEqual(['⇧ D'])
  expect(capsOf('$mod+Enter')).toEqual(['Ctrl ↵'])
  expect(inWords('g ,')).toBe('G then ,')
})
