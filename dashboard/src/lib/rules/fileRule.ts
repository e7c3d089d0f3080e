import { isNumber, isObject, parseJson, toJson } from '../api/exactJson'
import type { Json } from '../api/types'
import { escapeInvisible } from '../format/invisibleChars'
import {
  checkedConditions,
  isCommandClause,
  operandOf,
  type ConditionDraft,
  type FileComparison,
  type RuleFormState,
  type RuleTarget,
} from './draft'

/** A rule of hookback.json. */
export interface FileRule {
  tool: string
  when?: Record<string, Record<string, Json>>
  then: 'allow' | 'ask' | 'deny'
  risk?: string
  reason?: string
}

/** The line for hookback.json; undefined while the form is incomplete. */
export function toFileRule(c: RuleFormState): FileRule | undefined {
  const tool = c.tool.trim()
  const on = c.scope === 'tool' ? [] : checkedConditions(c.clauses)
  if (!tool || !on || (on.length === 0 && c.scope !== 'tool')) return undefined
  const rule: FileRule = { tool, then: c.then }
  for (const clause of on) {
    const tests = ((rule.when ??= {})[clause.argument.trim()] ??= {})
    tests[clause.is] = operandOf(clause)
    const options = optionNames(clause)
    if (clause.is === 'runs' && options.length > 0 && c.then !== 'allow') tests.option = options
  }
  if (c.risk) rule.risk = c.risk
  if (c.reason.trim()) rule.reason = c.reason.trim()
  return { tool: rule.tool, ...(rule.when && { when: rule.when }), then: rule.then, ...tail(rule) }
}

const tail = ({ risk, reason }: FileRule) => ({ ...(risk && { risk }), ...(reason && { reason }) })

const optionNames = ({ options = '' }: ConditionDraft) => options.split(/[\s,]+/).filter(Boolean)

/** The entries of the form for a rule of hookback.json; undefined if the text is none. */
export function parseFileRule(
  text: string,
): Pick<RuleFormState, 'target' | 'then' | 'scope' | 'tool' | 'clauses' | 'reason' | 'risk'> | undefined {
  let rule: Json
  try {
    rule = parseJson(text) as Json
  } catch {
    return undefined
  }
  if (!isObject(rule) || typeof rule.tool !== 'string') return undefined
  const clauses = isObject(rule.when)
    ? Object.entries(rule.when).flatMap(([argument, tests]) => readTests(argument, tests))
    : []
  const { then, reason, risk } = rule
  return {
    target: 'file',
    then: then === 'allow' || then === 'deny' ? then : 'ask',
    scope: clauses.length > 0 ? 'when' : 'tool',
    tool: rule.tool,
    clauses,
    reason: typeof reason === 'string' ? reason : '',
    risk: typeof risk === 'string' ? risk : undefined,
  }
}

function readTests(argument: string, tests: Json): ConditionDraft[] {
  if (!isObject(tests)) return []
  return Object.entries(tests).flatMap(([is, value]): ConditionDraft[] => {
    if (is === 'option' || value === null || Array.isArray(value) || isObject(value)) return []
    const kind = isNumber(value) ? 'number' : typeof value === 'boolean' ? 'flag' : 'text'
    const options = is === 'runs' && Array.isArray(tests.option) ? tests.option.join(', ') : undefined
    const shared = { argument, is: is as FileComparison, value: String(value), kind, on: true } as const
    return [{ ...shared, here: '', added: true, ...(options !== undefined && { options }) }]
  })
}

/** Escapes the characters of a glob that have a meaning. */
const literal = (text: string) => text.replace(/[\\*?]/g, '\\$&')

/** The words that the comparison runs accepts: a program and its first words. */
const isPlainCommand = (text: string) => /^[^;&|<>()$`*?[\\"'\n]+$/.test(text) && text.trim() !== ''

/** The same condition for the other target, or the nearest one that it has. */
export function convertCondition(clause: ConditionDraft, target: RuleTarget): ConditionDraft {
  const { is, value } = clause
  const to = (changed: ConditionDraft['is'], text = value): ConditionDraft => ({
    ...clause,
    is: changed,
    value: text,
  })
  if (target === 'file') {
    if (is === 'starts_with' && isCommandClause(clause) && (value === '' || isPlainCommand(value)))
      return to('runs')
    if (is === 'starts_with') return to('glob', literal(value) + '*')
    if (is === 'under') return to('glob', literal(value.replace(/\/$/, '')) + '/*')
    return is === 'at_most' ? to('less') : is === 'at_least' ? to('greater') : clause
  }
  if (is === 'runs') return to('starts_with')
  if (is === 'regex') return { ...to('contains', ''), on: false }
  return is === 'less' ? to('at_most') : is === 'greater' ? to('at_least') : clause
}

/** Changes the target of the form, with its conditions. Only a file can ask. */
export function setTarget(c: RuleFormState, target: RuleTarget): void {
  if (c.target === target) return
  c.target = target
  c.clauses = c.clauses.map((clause) => convertCondition(clause, target))
  if (target === 'hub' && c.then === 'ask') c.then = 'deny'
  if (target === 'file' && c.scope === 'call')
    c.scope = c.clauses.some((clause) => clause.on) ? 'when' : 'tool'
}

/** The rule as JSON on one line. Characters that can't be seen are escaped. */
export const ruleJson = (rule: FileRule): string => escapeInvisible(toJson(rule))

const shellQuote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

/** The command that adds the rule to the user's file, or to the one of the current project. */
export const addCommand = (json: string, origin: 'user' | 'project'): string =>
  `hookback policy add ${origin === 'project' ? '--project ' : ''}${shellQuote(json)}`

/** The command that prints the rules of a file, or its mistakes. */
export const checkCommand = (path: string): string => `hookback policy check ${shellQuote(path)}`
