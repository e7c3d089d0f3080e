import { keyCaps, keysAsText } from '../lib/keys/keyCaps'
import { expect, test } from 'vitest'
import { shortcutList, shortcutLines } from '../lib/keys/shortcutList'
import { destinations } from './screens'

const components = import.meta.glob(['../**/*.svelte', '../features/inbox/cardActions.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})
const sources = Object.values(components).map(String).join('\n')

test('the list contains exactly the keys of all screens', () => {
  const used = new Set([...sources.matchAll(/\bkeys: '([^']+)'/g)].map((m) => m[1]))
  const elsewhere = new Set(['ArrowDown', 'ArrowUp'])
  const known = new Set(shortcutList.map((k) => k.keys))
  expect([...used].filter((k) => k && !known.has(k) && !elsewhere.has(k))).toEqual([])
  const places = new Set(['g i', 'g n', 'g s', 'g e', 'g o', 'g p', 'g t', 'g ,'])
  expect([...known].filter((k) => !used.has(k) && !places.has(k))).toEqual([])
  expect(destinations.filter((d) => !places.has(d.keys))).toEqual([])
})

test('no shortcut has the keys of another or starts it', () => {
  const starts = (keys: string, other: string) => other === keys || other.startsWith(keys + ' ')
  for (const [i, { keys }] of shortcutList.entries())
    expect(shortcutList.filter((other, at) => at !== i && starts(keys, other.keys))).toEqual([])
})

test('shortcutLines describes each binding once', () => {
  const run = () => undefined
  const lines = shortcutLines([
    { keys: 'a', run },
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
