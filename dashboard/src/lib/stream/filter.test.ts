import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Entry } from './eventView'
import { matches, parse, addTerm } from './filter'
import { aRequest, anEvent } from '../../testing/factories'
import type { Event } from '../api/types'

const fits = (text: string, event: Event) => matches(parse(text), new Entry(event))

const run = anEvent(1, {
  source_app: 'Infra',
  hook_event_type: 'PostToolUse',
  payload: {
    tool_name: 'Bash',
    tool_input: { command: 'go test ./internal/store', deep: { n: 7 } },
    result: 'exit 1 after timeout',
  },
})

describe('Filter', () => {
  it.each([
    ['', true],
    ['store', true],
    ['STORE timeout', true],
    ['store nowhere', false],
    ['-nowhere', true],
    ['-store', false],
    ['"exit 1"', true],
    ['"exit 2"', false],
    ['/time.?out/', true],
    ['/^nothing$/', false],
    ['-/time.?out/', false],
    ['agent:infra', true],
    ['agent:inf', false],
    ['agent:inf*', true],
    ['agent:*fra type:Post*', true],
    ['-agent:infra', false],
    ['tool:Bash', true],
    ['-tool:Read', true],
    ['type:/tool/', true],
    ['tool_input.command:*store', true],
    ['command:"go test ./internal/store"', true],
    ['deep.n:7', true],
    ['deep.n:8', false],
    ['nosuch.path:1', false],
    ['id:1', true],
  ])('%s → %s', (text, expected) => {
    expect(fits(text, run)).toBe(expected)
  })

  it('matches the outcome of a request', () => {
    expect(fits('status:pending kind:permission risk:high', aRequest(2, { risk: 'high' }))).toBe(true)
    expect(fits('status:pending', run)).toBe(false)
  })

  it('reports an invalid term and applies the others', () => {
    const filter = parse('store /(/')
    expect(filter.problem).toContain('not a regular expression')
    expect(matches(filter, new Entry(run))).toBe(true)
  })

  it('never throws on any input', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(typeof fits(text, run)).toBe('boolean')
      }),
    )
  })

  it('treats regular expression syntax as text', () => {
    expect(fits('agent:a.b*', anEvent(3, { source_app: 'a.b(c)' }))).toBe(true)
    expect(fits('agent:a.b*', anEvent(3, { source_app: 'axbc' }))).toBe(false)
  })
})

describe('Cell click', () => {
  it('adds a term once, quotes it if needed, and replaces its opposite', () => {
    expect(addTerm('', 'agent', 'infra')).toBe('agent:infra')
    expect(addTerm('agent:infra', 'agent', 'infra')).toBe('agent:infra')
    expect(addTerm('x', 'agent', 'my agent')).toBe('x agent:"my agent"')
    expect(addTerm('-tool:Bash x', 'tool', 'Bash')).toBe('x tool:Bash')
    expect(addTerm('x tool:Bash', 'tool', 'Bash', true)).toBe('x -tool:Bash')
    expect(addTerm('-tool:Bash', 'tool', 'Bash', true)).toBe('-tool:Bash')
    expect(fits(addTerm('', 'agent', 'my agent'), anEvent(1, { source_app: 'my agent' }))).toBe(true)
  })
})
