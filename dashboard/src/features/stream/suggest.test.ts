import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { filterHint, withoutUnfinishedTerm, suggest } from './suggest'

const known = {
  source_apps: ['infra', 'api', 'my agent'],
  session_ids: ['s-1'],
  hook_event_types: ['PreToolUse', 'PostToolUse', 'Stop'],
  tool_names: ['Bash', 'Read'],
}
/** | is the caret. */
const at = (text: string) => suggest(text.replace('|', ''), text.indexOf('|'), known)
const terms = (text: string) => at(text).items.map((i) => i.term)
const taken = (text: string, n = 0) => {
  const { from, to, items } = at(text)
  const plain = text.replace('|', '')
  return plain.slice(0, from) + (items[n]?.term ?? '') + plain.slice(to)
}

describe('suggest', () => {
  it('starts with the keys', () => {
    expect(terms('|').slice(0, 3)).toEqual(['agent:', 'type:', 'tool:'])
    expect(terms('Bash to|')).toContain('tool:')
    expect(terms('-ty|')).toEqual(['-type:'])
  })

  it('lists the values of a key, prefix matches first', () => {
    expect(terms('type:|')).toEqual(['type:PreToolUse', 'type:PostToolUse', 'type:Stop'])
    expect(terms('type:po|')).toEqual(['type:PostToolUse'])
    expect(terms('type:tool|')).toEqual(['type:PreToolUse', 'type:PostToolUse'])
    expect(terms('status:r|')).toEqual(['status:responded', 'status:error'])
    expect(terms('-agent:|')).toContain('-agent:"my agent"')
  })

  it('finds values without a key', () => {
    expect(terms('bas|')).toEqual(['tool:Bash'])
  })

  it('replaces only the term at the caret', () => {
    expect(taken('agent:inf| x')).toBe('agent:infra x')
    expect(taken('agent:i|nf x')).toBe('agent:infra x')
    expect(taken('x agent:"my a|" y')).toBe('x agent:"my agent" y')
    expect(taken('x agent:"my a|')).toBe('x agent:"my agent"')
  })

  it('excludes the text that is already there', () => {
    expect(terms('tool:Bash|')).toEqual([])
  })

  it('never throws at any caret position', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(20), (text, caret) => {
        const { from, to } = suggest(text, Math.min(caret, text.length), known)
        expect(from).toBeLessThanOrEqual(to)
      }),
    )
  })
})

describe('didYouMean', () => {
  it.each([
    ['agent:', ''],
    ['x -agent:', 'x'],
    ['x -', 'x'],
    ['agent:a', 'agent:a'],
    ['Error: type:', 'Error:'],
    ['what:', 'what:'],
    ['tool_input.path:', 'tool_input.path:'],
  ])('%s → %s', (text, expected) => {
    expect(withoutUnfinishedTerm(text)).toBe(expected)
  })
})

describe('filterHint', () => {
  it.each([
    ['agnet:api', /Did you mean “agent:”/],
    ['tools:Bash', /“tool:”/],
    ['say "hello', /not closed/],
    ['status:open', /No status is called “open”. Known values: pending/],
    ['risk:severe', /low, medium, high, critical/],
  ])('%s', (text, says) => {
    expect(filterHint(text)).toMatch(says)
  })

  it.each([
    'agent:api',
    'path:x',
    'status:pend*',
    'risk:/high|critical/',
    '"agnet:x"',
    'app:api',
    'error:exit',
    'command:ls',
    'status:pending',
  ])('has no hint for %s', (text) => expect(filterHint(text)).toBeUndefined())
})
