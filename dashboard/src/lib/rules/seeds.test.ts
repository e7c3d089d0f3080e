import { describe, expect, it } from 'vitest'
import { anEvent, aRequest, commandView } from '../../testing/factories'
import { v2PolicyLinePush } from '../api/schema.golden'
import type { PolicyLine, Rule } from '../api/schema'
import { toRequest, type Request } from '../stream/requests'
import { byEvaluation } from './ruleText'
import { seedFromCall, seedFromFilter, seedFromRequest, seedFromRule } from './seeds'

const rule = (more: Partial<Rule>): Rule => ({
  id: 1,
  then: 'deny',
  text: '',
  tool: 'Bash',
  createdAt: 1,
  createdBy: 'ada',
  uses: 0,
  ...more,
})

describe('Rule from a filter', () => {
  it.each<[string, object, string[]]>([
    [
      'tool:Bash command:curl*',
      { tool: 'Bash', reach: 'everywhere', conditions: [['command', 'starts_with', 'curl']] },
      [],
    ],
    [
      'tool:Edit agent:api tool_input.file_path:/src/*.go',
      { tool: 'Edit', app: 'api', reach: 'agent', conditions: [['file_path', 'glob', '/src/*.go']] },
      [],
    ],
    [
      'agent:api session:s1 "rm -rf" branch:main',
      {
        reach: 'session',
        session: 's1',
        conditions: [
          ['command', 'contains', 'rm -rf'],
          ['branch', 'equals', 'main'],
        ],
      },
      [],
    ],
    [
      'tool:B* -command:ls type:Pre* risk:>=high /a b/',
      { tool: '', conditions: [['command', 'starts_with', '']] },
      ['tool:B*', '-command:ls', 'type:Pre*', 'risk:>=high', '/a b/'],
    ],
  ])('%s', (text, expected, ignored) => {
    const seed = seedFromFilter(text)
    const conditions = seed.form.clauses.map(({ argument, is, value }) => [argument, is, value])
    expect({ ...seed.form, conditions }).toMatchObject(expected)
    expect(seed.ignored).toEqual(ignored)
  })
})

describe('Rule from a call', () => {
  it('takes over the call of a request', () => {
    const toolCall = { name: 'Bash', arguments: { command: 'npm test' } }
    const request = toRequest(
      aRequest(7, { toolCall, context: { cwd: '/app' } }, { view: commandView }),
    ) as Request
    const seed = seedFromRequest(request, 'deny')
    expect(seed).toMatchObject({ from: 7, call: { commands: [{ text: 'npm test' }] } })
    expect(seed.form).toMatchObject({
      target: 'hub',
      then: 'deny',
      tool: 'Bash',
      app: 'api',
      reach: 'project',
      cwd: '/app',
    })
  })
  it('takes over the proposal for a call that ran without a person', () => {
    const payload = { tool_name: 'Bash', tool_input: { command: 'git push' } }
    const seed = seedFromCall(anEvent(3, { payload }), v2PolicyLinePush as unknown as PolicyLine)
    expect(seed.from).toBeUndefined()
    expect(seed.call?.rest).toEqual([['command', 'git push']])
    expect(seed.form).toMatchObject({ target: 'file', then: 'ask', tool: 'Bash' })
    expect(seed.form.clauses[0]).toMatchObject({ argument: 'command', is: 'runs', value: 'git push' })
  })
})

describe('Rule of the hub', () => {
  it('is replayed with its conditions and its place', () => {
    const when = [{ argument: 'amount', is: 'at_most', value: 5 } as const]
    expect(seedFromRule(rule({ when, source_app: 'api', cwd: '/app' }))?.form).toMatchObject({
      tool: 'Bash',
      scope: 'when',
      reach: 'project',
      clauses: [{ argument: 'amount', is: 'at_most', value: '5', kind: 'number' }],
    })
    expect(seedFromRule(rule({}))?.form).toMatchObject({ scope: 'tool', reach: 'everywhere' })
    expect(seedFromRule(rule({ call: 'a1' }))).toBeUndefined()
  })
  it('is evaluated after narrower ones', () => {
    const when = [{ argument: 'command', is: 'equals', value: 'x' } as const]
    const list = [
      rule({ id: 1 }),
      rule({ id: 2, when }),
      rule({ id: 3, when, source_app: 'api' }),
      rule({ id: 4, when: [...when, ...when] }),
      rule({ id: 5, call: 'any:a1' }),
      rule({ id: 6, call: 'a1' }),
    ]
    expect(list.toSorted(byEvaluation).map(({ id }) => id)).toEqual([6, 5, 4, 3, 2, 1])
  })
})
