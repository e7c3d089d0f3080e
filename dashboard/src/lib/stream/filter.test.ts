import { describe, expect, it } from 'vitest'
import { addTerm } from './filter'

describe('Cell click', () => {
  it('adds a term once, quotes it if needed, and replaces its opposite', () => {
    expect(addTerm('', 'agent', 'infra')).toBe('agent:infra')
    expect(addTerm('agent:infra', 'agent', 'infra')).toBe('agent:infra')
    expect(addTerm('x', 'agent', 'my agent')).toBe('x agent:"my agent"')
    expect(addTerm('-tool:Bash x', 'tool', 'Bash')).toBe('x tool:Bash')
    expect(addTerm('x tool:Bash', 'tool', 'Bash', true)).toBe('x -tool:Bash')
    expect(addTerm('-tool:Bash', 'tool', 'Bash', true)).toBe('-tool:Bash')
  })
})
