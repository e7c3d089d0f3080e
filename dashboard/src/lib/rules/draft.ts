import { callPreview } from '../format/callPreview'
import type { Request } from '../stream/requests'
import type { Condition } from '../api/schema'
import type { Json, RuleDraft, RulePreview } from '../api/types'
import { rulesText } from './text'

const copy = rulesText.form

export type RuleScope = RuleDraft['scope']
export type RuleReach = RuleDraft['reach']
export type Comparison = Condition['is']

/** A condition on one argument, as a line of the form. */
export interface ConditionDraft {
  argument: string
  is: Comparison
  /** The text of the field. */
  value: string
  kind: 'text' | 'number' | 'flag'
  on: boolean
  /** The value in the current call. */
  here: string
}

/** The durations of a rule in seconds; 0 means until it is revoked. */
export const ruleDurations = [
  { seconds: 15 * 60, name: copy.durations.minutes },
  { seconds: 8 * 3600, name: copy.durations.hours },
  { seconds: 0, name: copy.durations.unlimited },
] as const

/** The comparisons for each kind of argument, with their labels. */
export const comparisons: Record<ConditionDraft['kind'], [Comparison, string][]> = {
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

/** The scalar arguments that a condition can refer to, including one level of nesting. */
export function listArguments(args: Json | undefined, prefix = ''): [string, string | number | boolean][] {
  if (args === null || typeof args !== 'object' || Array.isArray(args)) return []
  return Object.entries(args).flatMap(([name, value]): [string, string | number | boolean][] => {
    const path = prefix + name
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return [[path, value]]
    return prefix === '' ? listArguments(value, path + '.') : []
  })
}

const COMMAND = /^(command|cmd|script)$/
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

function suggestCondition(argument: string, value: string | number | boolean): ConditionDraft {
  const here = String(value)
  if (typeof value === 'number')
    return { argument, is: 'at_most', value: here, kind: 'number', on: false, here }
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
  if (COMMAND.test(argument)) return text('starts_with', commandPrefix(value), true)
  if (isPath(value)) return text('under', dirOf(value), true)
  const [origin] = /^https?:\/\/[^/?#\s]+/.exec(value) ?? []
  if (origin) return text('starts_with', origin + '/', true)
  return text(value.length > LONGEST ? 'contains' : 'equals', value.slice(0, LONGEST), false)
}

/** Suggests a condition for each argument of a call. */
export function suggestConditions(args: Json | undefined): ConditionDraft[] {
  // Free text varies between calls, so it makes no useful condition.
  const prose = /^(description|content|new_string|old_string|new_source|prompt|explanation|reason)$/
  const clauses = listArguments(args)
    .filter(([name]) => !prose.test(name))
    .slice(0, 20)
    .map(([name, value]) => suggestCondition(name, value))
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

/** The condition is about a command line. */
export const isCommandClause = (clause: ConditionDraft) => COMMAND.test(clause.argument)

/** Why a condition is incomplete; undefined if it is valid. */
export function validateCondition({ kind, value }: ConditionDraft): string | undefined {
  if (kind === 'number' && (value.trim() === '' || !Number.isFinite(Number(value)))) return copy.mustBeNumber
  return kind === 'text' && value === '' ? copy.mustNotBeEmpty : undefined
}

const conditionOf = ({ argument, is, kind, value }: ConditionDraft): Condition => ({
  argument,
  is,
  value: kind === 'number' ? Number(value) : kind === 'flag' ? value === 'true' : value,
})

/** The state of the form. */
export interface RuleFormState {
  then: RuleDraft['then']
  scope: RuleScope
  clauses: ConditionDraft[]
  reach: RuleReach
  ttlSeconds: number
  reason: string
  applyNow: boolean
}

/** The rule draft for the hub; undefined while the form is incomplete. */
export function toRuleDraft(from: number, c: RuleFormState): RuleDraft | undefined {
  const draft: RuleDraft = {
    from,
    then: c.then,
    scope: c.scope,
    reach: c.reach,
    ttlSeconds: c.ttlSeconds,
  }
  if (c.scope === 'when') {
    const on = c.clauses.filter((clause) => clause.on)
    if (on.length === 0 || on.some(validateCondition)) return undefined
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

/** The working directory of the call; it identifies the project. */
export function projectDirectory(r: Request): string | undefined {
  const cwd = callPreview(r.event)?.cwd
  return cwd || undefined
}
