import { expect, it } from 'vitest'
import type { Rule } from '../api/schema'
import type { RulePreview } from '../api/types'
import { backTestText, previewBar, ruleStatus, expiryText, usageText } from './ruleText'

const rule = (more: Partial<Rule> = {}): Rule => ({
  id: 1,
  then: 'allow',
  text: 'Allow Bash.',
  tool: 'Bash',
  createdAt: 0,
  createdBy: 'ann',
  uses: 0,
  ...more,
})
const preview = (more: Partial<RulePreview>): RulePreview => ({
  rule: rule(),
  looked: 200,
  matched: 0,
  agreed: 0,
  opposed: 0,
  undecided: 0,
  examples: [],
  ...more,
})

it.each([
  [rule(), 'active', 'until revoked'],
  [rule({ session_id: 's1' }), 'active', 'until the session ends'],
  [rule({ expiresAt: 1_060_000 }), 'active', '1:00 left'],
  [rule({ expiresAt: 1_000_000 }), 'expired', 'expired'],
  [rule({ expiresAt: 9e9, revokedAt: 5, revokedBy: 'bob' }), 'revoked', 'revoked by bob'],
])('ruleStatus and expiryText: %#', (r, status, expiry) => {
  expect(ruleStatus(r, 1_000_000)).toBe(status)
  expect(expiryText(r, 1_000_000)).toBe(expiry)
})

it.each([
  [0, 'not used yet'],
  [1, 'used once'],
  [2, 'used twice'],
  [1200, 'used 1,200 times'],
])('usageText(%i)', (uses, words) => expect(usageText(rule({ uses }))).toBe(words))

it.each([
  [{ looked: 0 }, 'There are no earlier requests to compare with.'],
  [{}, 'The rule matches none of the 200 earlier requests.'],
  [
    { looked: 1, matched: 1, agreed: 1 },
    'The rule would have answered 1 of the 1 earlier request: 1 same as people decided.',
  ],
  [
    { matched: 14, agreed: 12, opposed: 1, undecided: 1 },
    'The rule would have answered 14 of the 200 earlier requests: 12 same as people decided, 1 opposite, 1 unanswered.',
  ],
])('backTestText(%j)', (found, words) => expect(backTestText(preview(found))).toBe(words))

it('previewBar omits empty parts', () =>
  expect(previewBar(preview({ agreed: 3, undecided: 1 })).map(({ tone, n }) => [tone, n])).toEqual([
    ['agreed', 3],
    ['undecided', 1],
  ]))
