import { describe, expect, it } from 'vitest'
import { addedCondition, emptyForm, type RuleFormState } from './draft'
import {
  addCommand,
  checkCommand,
  convertCondition,
  parseFileRule,
  ruleJson,
  setTarget,
  toFileRule,
  type FileRule,
} from './fileRule'

const form = (more: Partial<RuleFormState> = {}): RuleFormState => ({
  ...emptyForm(),
  target: 'file',
  then: 'ask',
  tool: 'Bash',
  ...more,
})
const push = { ...addedCondition(), is: 'runs', value: 'git push' } as const
const rule = '{"tool":"Bash","when":{"command":{"runs":"git push"}},"then":"ask"}'

describe('Line of a policy file', () => {
  it('has the tests, options, risk and reason of the form', () => {
    expect(toFileRule(form({ clauses: [push] }))).toEqual(JSON.parse(rule))
    const clauses = [
      { ...push, value: 'rm', options: 'r, recursive' },
      { ...addedCondition('timeout'), is: 'greater', value: '5', kind: 'number' } as const,
    ]
    const all = form({ clauses, risk: 'high', reason: ' It deletes. ' })
    expect(toFileRule(all)).toEqual({
      tool: 'Bash',
      when: { command: { runs: 'rm', option: ['r', 'recursive'] }, timeout: { greater: 5 } },
      then: 'ask',
      risk: 'high',
      reason: 'It deletes.',
    })
    expect(toFileRule({ ...all, then: 'allow' })?.when?.command).toEqual({ runs: 'rm' })
    expect(toFileRule(form({ scope: 'tool', tool: '*' }))).toEqual({ tool: '*', then: 'ask' })
  })

  it('is undefined while the form is incomplete', () => {
    expect(toFileRule(form())).toBeUndefined()
    expect(toFileRule(form({ clauses: [] }))).toBeUndefined()
    expect(toFileRule(form({ clauses: [push], tool: ' ' }))).toBeUndefined()
  })

  it.each([
    rule,
    '{"tool":"Bash","when":{"command":{"runs":"rm","option":["r","recursive"]}},"then":"deny","risk":"high","reason":"No."}',
    '{"tool":"refund","when":{"amount":{"greater":100},"urgent":{"equals":true}},"then":"ask"}',
    '{"tool":"mcp__*delete*","then":"ask","risk":"high","reason":"The tool deletes data in another system."}',
  ])('is read and written without a change: %s', (json) => {
    const read = { ...emptyForm(), ...parseFileRule(json) }
    expect(ruleJson(toFileRule(read) as FileRule)).toBe(json)
  })

  it.each(['', '[]', 'null', '{"then":"ask"}'])('is not read from %j', (text) =>
    expect(parseFileRule(text)).toBeUndefined(),
  )

  it('is quoted for a shell, with invisible characters escaped', () => {
    const json = ruleJson({ tool: 'Bash', when: { command: { equals: "it's \u202e" } }, then: 'ask' })
    expect(addCommand(json, 'user')).toBe(
      String.raw`hookback policy add '{"tool":"Bash","when":{"command":{"equals":"it'\''s \u202e"}},"then":"ask"}'`,
    )
    expect(addCommand('{}', 'project')).toBe("hookback policy add --project '{}'")
    expect(checkCommand('/a b')).toBe("hookback policy check '/a b'")
  })
})

describe('Target of a rule', () => {
  const clause = (is: RuleFormState['clauses'][number]['is'], value: string, argument = 'command') => ({
    ...addedCondition(argument),
    is,
    value,
  })
  it.each([
    [clause('starts_with', 'npm test'), 'runs', 'npm test'],
    [clause('starts_with', 'a | b'), 'glob', 'a | b*'],
    [clause('starts_with', 'https://a/?x*', 'url'), 'glob', String.raw`https://a/\?x\**`],
    [clause('under', '/home/dev/', 'file_path'), 'glob', '/home/dev/*'],
    [clause('at_most', '5', 'amount'), 'less', '5'],
    [clause('contains', 'x'), 'contains', 'x'],
  ])('a file has the nearest comparison: %#', (from, is, value) =>
    expect(convertCondition(from, 'file')).toMatchObject({ is, value }),
  )
  it('the hub has no regular expressions and does not ask', () => {
    const choice = form({ clauses: [clause('regex', '^a'), clause('runs', 'git push')] })
    setTarget(choice, 'hub')
    expect(choice).toMatchObject({ target: 'hub', then: 'deny' })
    expect(choice.clauses.map(({ is, value, on }) => [is, value, on])).toEqual([
      ['contains', '', false],
      ['starts_with', 'git push', true],
    ])
  })
  it('a file has no scope for exactly one call', () => {
    const choice = form({ target: 'hub', then: 'deny', scope: 'call', clauses: [push] })
    setTarget(choice, 'file')
    expect(choice.scope).toBe('when')
  })
})
