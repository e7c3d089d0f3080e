import { expect, test } from 'vitest'
import { groupRequests, toRequest, type Request } from '../lib/stream/requests'
import { eventItems, shortcutItems, requestItems, sessionItems } from './paletteItems'
import { aRequest, anEvent } from '../testing/factories'

const paths: string[] = []
const go = (path: string) => void paths.push(path)

test.each([
  ['#12', ['/stream?event=12', '/inbox/12']],
  [' 12 ', ['/stream?event=12', '/inbox/12']],
  ['12a', []],
  ['#', []],
  ['1234567890123456', []],
])('query %j finds the events %j', (query, expected) => {
  paths.length = 0
  for (const item of eventItems(query, go)) item.run()
  expect(paths).toEqual(expected)
})

test('finds requests by their first line', () => {
  const request = toRequest(aRequest(7, { question: 'Deploy?\nnow' })) as Request
  const [item] = requestItems(groupRequests([request], Date.now(), new Map()), go)
  expect(item).toMatchObject({ text: 'Deploy?', hint: 'api · #7' })
})

test('lists each session once, newest first', () => {
  const opened: string[][] = []
  const newest = [
    anEvent(3, { session_id: 's2' }),
    anEvent(2, { session_id: 's1' }),
    anEvent(1, { session_id: 's2' }),
  ]
  const items = sessionItems(
    { newest: () => newest.map((event) => ({ event })) },
    (...session) => void opened.push(session),
  )
  for (const item of items) item.run()
  expect(opened).toEqual([
    ['api', 's2'],
    ['api', 's1'],
  ])
})

test('excludes shortcuts that decide or only apply to fields', () => {
  const ran: string[] = []
  const bind = (keys: string, more = {}) => ({ keys, run: () => void ran.push(keys), ...more })
  const items = shortcutItems([
    bind('a', { decides: true }),
    bind('$mod+Enter', { inFields: true }),
    bind('1'),
    bind('2'),
    bind('g i'),
    bind('j'),
  ])
  expect(items.map((item) => item.text)).toEqual(['Next request'])
  items[0]?.run()
  expect(ran).toEqual(['j'])
})
