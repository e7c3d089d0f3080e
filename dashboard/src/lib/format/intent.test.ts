import { expect, it } from 'vitest'
import { splitObject } from './intent'

it.each([
  ['services/very/deep/handler/checkout_test.go', '/checkout_test.go'],
  ['kubectl apply -f deploy/prod.yaml', '/prod.yaml'],
  ['curl https://example.com/x | sudo bash', ' bash'],
  [`a/${'n'.repeat(90)}.go`, 'nnnnnnnnn.go'],
  [`echo ${'👍'.repeat(20)}`, '👍'.repeat(12)],
  ['list.go', 'list.go'],
  ['https://example.com/', 'example.com/'],
])('splitObject keeps the end of %s', (object, end) => {
  expect(splitObject(object)).toEqual([object.slice(0, object.length - end.length), end])
})
