import { keyCaps, keysAsText } from '../lib/keys/keyCaps'
import { describe, expect, test } from 'vitest'
import { remapConflict, shortcutList, keysFromEvent, shortcutLines } from '../lib/keys/shortcutList'
import { destinations } from './screens'

const components = import.meta.glob(['../**/*.svelte', '../features/inbox/cardActions.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const sources = Object.values(components).map(String).join('\n')

test('the list contains exactly the keys of all screens', () => {
  const used = new Set([...sources.matchAll(/\bkeys: '([^']+)'/g)].map((m) => m[1]))
  const elsewhere = new Set(['Shift+?', 'ArrowDown', 'ArrowUp'])
  const known = new Set(shortcutList.map((k) => k.keys))
  expect([...used].filter((k) => k && !known.has(k) && !elsewhere.has(k))).toEqual([])
  const places = new Set(['g i', 'g n', 'g s', 'g e', 'g o', 'g p', 'g t', 'g ,'])
  expect([...known].filter((k) => !used.has(k) && !places.has(k))).toEqual([])
  expect(destinations.filter((d) => !places.has(d.keys))).toEqual([])
})

test('no default keys conflict', () => {
  for (const { keys, fixed } of shortcutList)
    if (!fixed) expect(remapConflict(keys, keys, {})).toBeUndefined()
})

describe('Remapped keys', () => {
  test.each([
    ['v', 'a', {}, undefined],
    ['d', 'a', {}, 'D is already used: Deny with a reason.'],
    ['d', 'a', { d: 'n' }, undefined],
    ['n', 'a', { d: 'n' }, 'N is already used: Deny with a reason.'],
    ['g', 'a', {}, 'G is the start of G then I: Go to the inbox.'],
    ['3', 'a', {}, 'Digits choose answers.'],
    ['Shift+?', 'a', {}, '? shows the shortcuts.'],
    ['Shift+D', 'a', {}, '⇧ D is already used: Deny immediately.'],
  ])('%s for %s', (keys, usual, remap, why) => expect(remapConflict(keys, usual, remap as never)).toBe(why))

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
  ])('keysFromEvent(%j)', (press, keys) =>
    expect(keysFromEvent(new KeyboardEvent('keydown', press))).toBe(keys),
  )
})

test('shortcutLines describes each binding once', () => {
  const run = () => undefined
  const lines = shortcutLines([
    { keys: 'a', run },
    { keys: 'Shift+?', run },
    { keys: '?', run },
    { keys: '1', run },
    { keys: '2', run },
    { keys: 'x', run, description: 'Mark it' },
    { keys: 'a', run },
    { keys: '$mod+F9', run },
  ])
  expect(lines.map((l) => [l.keys, l.description])).toEqual([
    ['a', 'Approve (hold if risky)'],
    ['?', 'Show the shortcuts of this screen'],
    ['x', 'Mark it'],
    ['1 … 2', 'Choose an answer'],
  ])
})

test('keyCaps returns the labels of keys', () => {
  expect(keyCaps('g i')).toEqual(['G', 'I'])
  expect(keyCaps('Shift+D')).toEqual(['⇧ D'])
  expect(keyCaps('$mod+Enter')).toEqual(['Ctrl ↵'])
  expect(keysAsText('g ,')).toBe('G then ,')
})
