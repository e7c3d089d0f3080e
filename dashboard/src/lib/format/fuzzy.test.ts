import { expect, test } from 'vitest'
import { rankMatches, score } from './fuzzy'

const names = [
  'Inbox',
  'Stream',
  'Settings',
  'Go to settings',
  'api-refactor',
  'Refactor the parser',
  'paper',
]

test.each([
  ['set', ['Settings', 'Go to settings']],
  ['refac', ['Refactor the parser', 'api-refactor']],
  ['parse ref', ['Refactor the parser']],
  ['stm', ['Stream']],
  ['par', ['Refactor the parser', 'paper', 'api-refactor']], // whole words before letters here and there
  ['SETTINGS go', ['Go to settings']],
  ['zz', []],
  ['', names],
])('%s', (query, found) => expect(rankMatches(names, query, (n) => n)).toEqual(found))

test('a match at the start of a word ranks above one inside a word', () =>
  expect(score('api-refactor', 'ref')).toBeGreaterThan(score('apirefactor', 'ref')))

test('the query is not a regular expression', () => {
  expect(score('a.b*c', '.*')).toBeGreaterThan(0)
  expect(score('abc', '.*')).toBe(0)
})
