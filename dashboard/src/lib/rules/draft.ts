import { isNumber, parseNumber } from '../api/exactJson'
import { callPreview, pointerOf } from '../format/callPreview'
import type { Request } from '../stream/requests'
import type { CallView, Condition } from '../api/schema'
import type { Json, RuleDraft, RulePreview } from '../api/types'
import { rulesText } from './text'

const copy = rulesText.form

export type RuleScope = RuleDraft['scope']
export type RuleReach = RuleDraft['reach']
/** A comparison of the hub. */
export type Comparison = Condition['is']
/** A comparison of hookback.json. */
export type FileComparison = 'equals' | 'contains' | 'glob' | 'regex' | 'greater' | 'less' | 'runs'

/** A condition on one argument, as a line of the form. */
export interface ConditionDraft {
  argument: string
  is: Comparison | FileComparison
  /** The text of the field. */
  value: string
  kind: 'text' | 'number' | 'flag'
  on: boolean
  /** The value in the current call. */
  here: string
  /** The options of a program, for the comparison runs. */
  options?: string
  /** The person added it, so its argument can be changed. */
  added?: boolean
  /** The hub reads its argument as a command line. */
  isCommand?: boolean
}

/** The durations of a rule in seconds; 0 means until it is revoked. */
export const ruleDurations = [
  [15 * 60, copy.durations.minutes],
  [8 * 3600, copy.durations.hours],
  [0, copy.durations.unlimited],
] as const

type Comparisons<T> = Record<ConditionDraft['kind'], [T, string][]>

/** The comparisons of the hub for each kind of argument, with their labels. */
export const comparisons: Comparisons<Comparison> = {
  text: [
    ['equals', copy.comparisons.equals],
    ['starts_with', copy.comparisons.startsWith],
    ['under', copy.comparisons.under],
    ['contains', copy.comparisons.contains],
    ['glob', copy.comparisons.glob],
  ],
  number: [
    ['equals', copy.comparisons.equals],
    ['at_most', copy.comparisons.atMost],
    ['at_least', copy.comparisons.atLeast],
  ],
  flag: [['equals', copy.comparisons.is]],
}

/** The comparisons of hookback.json. */
export const fileComparisons: Comparisons<FileComparison> = {
  text: [
    ['runs', copy.comparisons.runs],
    ['equals', copy.comparisons.equals],
    ['contains', copy.comparisons.contains],
    ['glob', copy.comparisons.glob],
    ['regex', copy.comparisons.regex],
  ],
  number: [
    ['equals', copy.comparisons.equals],
    ['greater', copy.comparisons.greater],
    ['less', copy.comparisons.less],
  ],
  flag: comparisons.flag as [FileComparison, string][],
}

/** The scalar arguments that a condition can refer to, including one level of nesting. */
export function listArguments(args: Json | undefined, prefix = ''): [string, string | number | boolean][] {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return []
  return Object.entries(args).flatMap(([name, value]): [string, string | number | boolean][] => {
    const path = prefix + name
    if (typeof value === 'string' || isNumber(value) || typeof value === 'boolean') return [[path, value]]
    return prefix === '' ? listArguments(value, path + '.') : []
  })
}

const LONGEST = 200

/** The program and its subcommand: "npm test" for "npm test -- --watch". */
function commandPrefix(command: string): string {
  const words = command.trim().split(/\s+/)
  const [program = '', second = ''] = words
  return /^[a-z][\w:-]*$/i.test(second) ? `${program} ${second}` : program
}

const isPath = (text: string) => /^(\/|~\/|\.{1,2}\/|[A-Za-z]:\\)/.test(text) && !text.includes('\n')

/** The parent directory of a path. */
const dirOf = (path: string) => path.slice(0, Math.max(path.lastIndexOf('/'), 0)) || '/'

function suggestCondition(
  argument: string,
  value: string | number | boolean,
  isCommand: boolean,
): ConditionDraft {
  const here = String(value)
  if (isNumber(value)) return { argument, is: 'at_most', value: here, kind: 'number', on: false, here }
  if (typeof value === 'boolean')
    return { argument, is: 'equals', value: here, kind: 'flag', on: false, here }
  const text = (is: Comparison, wanted: string, on: boolean): ConditionDraft => ({
    argument,
    is,
    value: wanted,
    kind: 'text',
    on,
    here,
  })
  if (isCommand) return { ...text('starts_with', commandPrefix(value), true), isCommand }
  if (isPath(value)) return text('under', dirOf(value), true)
  const [origin] = /^https?:\/\/[^/?#\s]+/.exec(value) ?? []
  if (origin) return text('starts_with', origin + '/', true)
  return text(value.length > LONGEST ? 'contains' : 'equals', value.slice(0, LONGEST), false)
}

/** Suggests a condition for each argument of a call. view: the hub's reading of it. */
export function suggestConditions(args: Json | undefined, view?: CallView): ConditionDraft[] {
  const commands = new Set(view?.lines?.map(({ at }) => at))
  // Free text varies between calls, so it makes no useful condition.
  const prose = /^(description|content|new_string|old_string|new_source|prompt|explanation|reason)$/
  const clauses = listArguments(args)
    .filter(([name]) => !prose.test(name))
    .slice(0, 20)
    .map(([name, value]) =>
      suggestCondition(name, value, commands.has(name.split('.').map(pointerOf).join(''))),
    )
  const [first] = clauses
  if (first && !clauses.some((c) => c.on)) first.on = true
  return clauses
}

/**
 * The scopes and conditions that can allow a call: all, or the ones that name it exactly. `exact` is
 * the hub's statement about the call.
 */
export function restrictToExact(c: RuleFormState, exact: RulePreview['exact']): RuleScope[] {
  if (c.then === 'deny' || !exact) return ['call', 'when', 'tool']
  if (exact === 'call' || !c.clauses.some(isCommandClause)) {
    c.scope = 'call'
    return ['call']
  }
  if (c.scope === 'tool') c.scope = 'when'
  for (const clause of c.clauses.filter(isCommandClause)) {
    clause.is = 'equals'
    clause.value = clause.here
    clause.on = true
  }
  return ['call', 'when']
}

/** The condition is about a command line. All rules know it by the name command. */
export const isCommandClause = (clause: ConditionDraft) => clause.isCommand || clause.argument === 'command'

/** Why a condition is incomplete; undefined if it is valid. */
export function validateCondition({ argument, kind, value }: ConditionDraft): string | undefined {
  if (!argument.trim()) return copy.mustNameArgument
  if (kind === 'number' && parseNumber(value) === undefined) return copy.mustBeNumber
  return kind === 'text' && value === '' ? copy.mustNotBeEmpty : undefined
}

/** The checked conditions; undefined if one of them is incomplete. */
export function checkedConditions(clauses: readonly ConditionDraft[]): ConditionDraft[] | undefined {
  const on = clauses.filter((clause) => clause.on)
  return on.some((clause) => validateCondition(clause) !== undefined) ? undefined : on
}

/** The value that a condition compares with. */
export const operandOf = ({ kind, value }: ConditionDraft): string | number | boolean =>
  kind === 'number' ? (parseNumber(value) ?? NaN) : kind === 'flag' ? value === 'true' : value

const conditionOf = (clause: ConditionDraft): Condition => ({
  argument: clause.argument,
  is: clause.is as Comparison,
  value: operandOf(clause),
})

/** Where a rule is kept: the hub, or a line of hookback.json. */
export type RuleTarget = 'hub' | 'file'

/** The state of the form. */
export interface RuleFormState {
  target: RuleTarget
  /** ask is for lines of hookback.json. */
  then: RuleDraft['then'] | 'ask'
  scope: RuleScope
  tool: string
  clauses: ConditionDraft[]
  reach: RuleReach
  /** The agent, session and directory that the reach names, for a rule without a request. */
  app: string
  session: string
  cwd: string
  ttlSeconds: number
  reason: string
  /** For a line of hookback.json. */
  risk?: string
  applyNow: boolean
}

/** The form of a rule without a request, with no entries. */
export const emptyForm = (): RuleFormState => ({
  target: 'hub',
  then: 'allow',
  scope: 'when',
  tool: '',
  clauses: [addedCondition()],
  reach: 'everywhere',
  app: '',
  session: '',
  cwd: '',
  ttlSeconds: ruleDurations[1][0],
  reason: '',
  applyNow: false,
})

/** A condition to be filled in. */
export const addedCondition = (argument = 'command'): ConditionDraft => ({
  argument,
  is: 'starts_with',
  value: '',
  kind: 'text',
  on: true,
  here: '',
  added: true,
})

/** The members of a draft that replace the request. */
function scratchDraft(c: RuleFormState): Partial<RuleDraft> | undefined {
  const tool = c.tool.trim()
  const [app, cwd] = [c.app.trim(), c.cwd.trim()]
  const missing = {
    everywhere: false,
    agent: !app,
    project: !app || !cwd,
    session: !app || !c.session,
  }[c.reach]
  if (!tool || missing) return undefined
  return {
    tool,
    ...(c.reach !== 'everywhere' && { source_app: app }),
    ...(c.reach === 'project' && { cwd }),
    ...(c.reach === 'session' && { session_id: c.session }),
  }
}

/**
 * The draft of a rule of the hub; undefined while the form is incomplete. from: the request that it is
 * created from, if there is one.
 */
export function toRuleDraft(from: number | undefined, c: RuleFormState): RuleDraft | undefined {
  const origin = from === undefined ? scratchDraft(c) : { from }
  if (!origin || c.then === 'ask') return undefined
  const draft: RuleDraft = {
    ...origin,
    then: c.then,
    scope: c.scope,
    reach: c.reach,
    ttlSeconds: c.ttlSeconds,
  }
  if (c.scope === 'when') {
    const on = checkedConditions(c.clauses)
    if (!on || on.length === 0) return undefined
    draft.when = on.map(conditionOf)
  }
  if (c.reason.trim()) draft.reason = c.reason.trim()
  if (c.applyNow) draft.applyNow = true
  return draft
}

/** A rule that denies exactly this call until the session ends. */
export const sessionDenial = (from: number, reason: string): RuleDraft => ({
  from,
  then: 'deny',
  scope: 'call',
  reach: 'session',
  ttlSeconds: 0,
  ...(reason ? { reason } : {}),
})

/** The working directory of the call, of a git worktree that in the main working tree; it identifies the project. */
export function projectDirectory(r: Request): string | undefined {
  const cwd = r.question.context?.project ?? callPreview(r.event)?.cwd
  return cwd || undefined
}
