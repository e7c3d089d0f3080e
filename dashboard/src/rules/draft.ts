import { callPreview } from '../inbox/callPreview'
import type { Request } from '../requests'
import type { Condition } from '../schema'
import type { Json, RuleDraft } from '../types'

export type RuleScope = RuleDraft['scope']
export type RuleReach = RuleDraft['reach']
export type Comparison = Condition['is']

/** What an argument could be held to, as one line of the form. */
export interface ConditionDraft {
  argument: string
  is: Comparison
  /** As it is written in the field. */
  value: string
  kind: 'text' | 'number' | 'flag'
  on: boolean
  /** What the call at hand has there. */
  here: string
}

/** How long a rule holds: seconds, 0 until it is revoked. */
export const ruleDurations = [
  { seconds: 15 * 60, name: '15 min' },
  { seconds: 8 * 3600, name: '8 h' },
  { seconds: 0, name: 'Until I revoke it' },
] as const

/** The tests there are for each kind of argument, in words. */
export const comparisons: Record<ConditionDraft['kind'], [Comparison, string][]> = {
  text: [
    ['equals', 'is exactly'],
    ['starts_with', 'begins with'],
    ['under', 'is a path in'],
    ['contains', 'contains'],
    ['glob', 'fits the pattern'],
  ],
  number: [
    ['equals', 'is exactly'],
    ['at_most', 'is at most'],
    ['at_least', 'is at least'],
  ],
  flag: [['equals', 'is']],
}

/** The arguments that a rule can speak of: texts, numbers, yes and no, also inside others. */
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

/** The program and what it is told to do: "npm test" of "npm test -- --watch". */
function commandPrefix(command: string): string {
  const words = command.trim().split(/\s+/)
  const [program = '', second = ''] = words
  return /^[a-z][\w:-]*$/i.test(second) ? `${program} ${second}` : program
}

const isPath = (text: string) => /^(\/|~\/|\.{1,2}\/|[A-Za-z]:\\)/.test(text) && !text.includes('\n')

/** The directory a path is in, with its slash. */
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

/** What a rule about calls like this one could ask of each argument. */
export function suggestConditions(args: Json | undefined): ConditionDraft[] {
  // What says how, where, to whom: not what is written there, nor why.
  const prose = /^(description|content|new_string|old_string|new_source|prompt|explanation|reason)$/
  const clauses = listArguments(args)
    .filter(([name]) => !prose.test(name))
    .slice(0, 20)
    .map(([name, value]) => suggestCondition(name, value))
  const [first] = clauses
  if (first && !clauses.some((c) => c.on)) first.on = true
  return clauses
}

/** Why a line can't be held against anything; undefined when it can. */
export function validateCondition({ kind, value }: ConditionDraft): string | undefined {
  if (kind === 'number' && (value.trim() === '' || !Number.isFinite(Number(value))))
    return 'This must be a number.'
  return kind === 'text' && value === '' ? 'This must not be empty.' : undefined
}

const conditionOf = ({ argument, is, kind, value }: ConditionDraft): Condition => ({
  argument,
  is,
  value: kind === 'number' ? Number(value) : kind === 'flag' ? value === 'true' : value,
})

/** What a person chose in the form. */
export interface RuleFormState {
  then: RuleDraft['then']
  scope: RuleScope
  clauses: ConditionDraft[]
  reach: RuleReach
  ttlSeconds: number
  reason: string
  applyNow: boolean
}

/** What the hub is asked for, undefined while the form is not whole. */
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

/** "Don't ask again in this session": the narrowest denial there is. */
export const sessionDenial = (from: number, reason: string): RuleDraft => ({
  from,
  then: 'deny',
  scope: 'call',
  reach: 'session',
  ttlSeconds: 0,
  ...(reason ? { reason } : {}),
})

/** The session's directory, as a project is called. */
export function projectDirectory(r: Request): string | undefined {
  const cwd = callPreview(r.event)?.cwd
  return cwd || undefined
}
