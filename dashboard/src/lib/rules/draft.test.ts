import { describe, expect, it } from 'vitest'
import { toRequest, type Request } from '../stream/requests'
import { aRequest, commandView } from '../../testing/factories'
import type { HumanInTheLoop, Status } from '../api/types'
import {
  suggestConditions,
  isCommandClause,
  restrictToExact,
  sessionDenial,
  toRuleDraft,
  comparisons,
  emptyForm,
  validateCondition,
  type RuleFormState,
} from './draft'
import { ruleBlocker } from './ruleBlocker'

const call = { name: 'Bash', arguments: { command: 'npm test -- --watch' } }
const asked = (question: Partial<HumanInTheLoop> = {}, status: Partial<Status> = {}) =>
  toRequest(aRequest(7, { toolCall: call, ...question }, status)) as Request

describe('ruleBlocker', () => {
  it.each<[string, Request, RegExp | undefined]>([
    ['a permission for a call', asked(), undefined],
    ['of medium risk', asked({}, { risk: 'medium' }), undefined],
    ['of high risk by the hub', asked({ risk: 'low' }, { risk: 'high' }), /^High-risk .* rules never apply/],
    ['of critical risk by the agent', asked({ risk: 'critical' }), /^Critical-risk .* rules never apply/],
    ['that takes votes', asked({ requiredApprovals: 2 }), /several votes/],
    ['for certain people', asked({ recipients: { mode: 'owner' } }), /certain people/],
    ['for anyone', asked({ recipients: { mode: 'anyone' } }), undefined],
    ['without a call', asked({ toolCall: undefined }), /no tool call/],
    [
      'a plan',
      asked({ toolCall: { name: 'ExitPlanMode', arguments: { plan: '# Limits' } } }),
      /Every plan needs/,
    ],
    ['a text', asked({ type: 'question' }), /Only permissions/],
  ])('%s', (_, request, why) => {
    if (why) expect(ruleBlocker(request)).toMatch(why)
    else expect(ruleBlocker(request)).toBeUndefined()
  })
})

describe('suggestConditions', () => {
  const of = (args: Parameters<typeof suggestConditions>[0]) =>
    suggestConditions(args, commandView).map(({ argument, is, value, on }) => [argument, is, value, on])

  it.each([
    [{ command: 'npm test -- --watch' }, [['command', 'starts_with', 'npm test', true]]],
    [{ command: 'ls -la /tmp' }, [['command', 'starts_with', 'ls', true]]],
    [
      { file_path: '/home/dev/app/src/a.ts', content: 'x' },
      [['file_path', 'under', '/home/dev/app/src', true]],
    ],
    [{ url: 'https://example.com/a?b' }, [['url', 'starts_with', 'https://example.com/', true]]],
    [
      { amount: 12.5, currency: 'EUR', urgent: false },
      [
        ['amount', 'at_most', '12.5', true],
        ['currency', 'equals', 'EUR', false],
        ['urgent', 'equals', 'false', false],
      ],
    ],
    [{ cmd: 'ls -l' }, [['cmd', 'equals', 'ls -l', true]]],
    [{ to: { name: 'Ann' }, list: [1] }, [['to.name', 'equals', 'Ann', true]]],
    [null, []],
    [undefined, []],
    ['text', []],
  ])('%j', (args, clauses) => expect(of(args)).toEqual(clauses))

  it('suggests only operators of the argument’s type', () => {
    for (const clause of suggestConditions({ a: 'x', b: 1, c: true, d: '/a/b', command: 'ls' }, commandView))
      expect(comparisons[clause.kind].map(([is]) => is)).toContain(clause.is)
  })
  it('takes the command from the hub’s reading', () => {
    const view = { lines: [{ at: '/input/CommandLine', shell: 'sh' } as const] }
    const [clause] = suggestConditions({ input: { CommandLine: 'npm test -- --watch' } }, view)
    expect(clause).toMatchObject({ argument: 'input.CommandLine', is: 'starts_with', value: 'npm test' })
    expect(clause && isCommandClause(clause)).toBe(true)
  })
  it('uses the exact values and at most the hub’s number of conditions', () => {
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`a${i}`, i]))
    expect(suggestConditions(many)).toHaveLength(20)
  })
})

describe('Rule request', () => {
  const choice = (more: Partial<RuleFormState> = {}): RuleFormState => ({
    ...emptyForm(),
    clauses: suggestConditions({ amount: 5, note: 'x', urgent: true }),
    reach: 'session',
    ttlSeconds: 900,
    reason: ' ',
    ...more,
  })

  it('contains typed values of the checked conditions only', () => {
    const c = choice()
    c.clauses.forEach((clause) => (clause.on = clause.argument !== 'note'))
    expect(toRuleDraft(7, c)).toEqual({
      from: 7,
      then: 'allow',
      scope: 'when',
      reach: 'session',
      ttlSeconds: 900,
      when: [
        { argument: 'amount', is: 'at_most', value: 5 },
        { argument: 'urgent', is: 'equals', value: true },
      ],
    })
  })
  it('is undefined without checked conditions or with an incomplete one', () => {
    const none = choice()
    none.clauses.forEach((clause) => (clause.on = false))
    expect(toRuleDraft(7, none)).toBeUndefined()
    const broken = choice()
    broken.clauses[0]!.value = 'many'
    expect(validateCondition(broken.clauses[0]!)).toBe('This must be a number.')
    expect(toRuleDraft(7, broken)).toBeUndefined()
  })
  it('omits conditions that do not apply', () =>
    expect(toRuleDraft(7, choice({ scope: 'tool', reason: ' no ', applyNow: true }))).toEqual({
      from: 7,
      then: 'allow',
      scope: 'tool',
      reach: 'session',
      ttlSeconds: 900,
      reason: 'no',
      applyNow: true,
    }))
  it('names its tool and its place without a request', () => {
    const c = { ...choice(), tool: ' Bash ', app: 'shop', cwd: '/home/dev/app' }
    const when = [{ argument: 'amount', is: 'at_most', value: 5 }]
    const base = { tool: 'Bash', then: 'allow', scope: 'when', ttlSeconds: 900, when }
    expect(toRuleDraft(undefined, { ...c, reach: 'everywhere' })).toEqual({ ...base, reach: 'everywhere' })
    expect(toRuleDraft(undefined, { ...c, reach: 'project' })).toEqual({
      ...base,
      reach: 'project',
      source_app: 'shop',
      cwd: '/home/dev/app',
    })
    expect(toRuleDraft(undefined, { ...c, reach: 'agent' })).toMatchObject({ source_app: 'shop' })
    expect(toRuleDraft(undefined, { ...c, reach: 'session' })).toBeUndefined()
    expect(toRuleDraft(undefined, { ...c, tool: ' ' })).toBeUndefined()
    expect(toRuleDraft(undefined, { ...c, then: 'ask' })).toBeUndefined()
  })
  it('is as narrow as possible to deny for the session', () =>
    expect(sessionDenial(7, '')).toEqual({
      from: 7,
      then: 'deny',
      scope: 'call',
      reach: 'session',
      ttlSeconds: 0,
    }))
})

describe('restrictToExact', () => {
  const form = (more: Partial<RuleFormState> = {}): RuleFormState => ({
    ...emptyForm(),
    clauses: suggestConditions({ command: 'make all -j4', timeout: 5 }),
    reach: 'project',
    ttlSeconds: 0,
    ...more,
  })

  it('offers every scope for other calls and for denials', () => {
    expect(restrictToExact(form(), undefined)).toEqual(['call', 'when', 'tool'])
    expect(restrictToExact(form({ then: 'deny' }), 'call')).toEqual(['call', 'when', 'tool'])
  })

  it('offers only the call', () => {
    const choice = form()
    expect(restrictToExact(choice, 'call')).toEqual(['call'])
    expect(choice.scope).toBe('call')
  })

  it('requires the whole command', () => {
    const choice = form({ scope: 'tool' })
    expect(restrictToExact(choice, 'command')).toEqual(['call', 'when'])
    expect(toRuleDraft(1, choice)).toMatchObject({
      scope: 'when',
      when: [{ argument: 'command', is: 'equals', value: 'make all -j4' }],
    })
    expect(restrictToExact(form({ clauses: [] }), 'command')).toEqual(['call'])
  })
})
