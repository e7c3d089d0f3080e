import { isNumber } from '../api/exactJson'
import { callPreview, type CallPreview } from '../format/callPreview'
import { termsOf, type Term } from '../stream/filter'
import type { Request } from '../stream/requests'
import type { PolicyLine, Rule } from '../api/schema'
import type { Event } from '../api/types'
import {
  addedCondition,
  emptyForm,
  projectDirectory,
  suggestConditions,
  type ConditionDraft,
  type RuleFormState,
} from './draft'
import { parseFileRule } from './fileRule'

/** The start of a new rule. */
export interface RuleSeed {
  form: RuleFormState
  /** The request whose call the rule takes over. */
  from?: number
  /** A call that the rule is about. */
  call?: CallPreview
  /** The terms of a filter that no condition stands for. */
  ignored?: string[]
}

/** A rule from scratch. */
export const blankSeed = (): RuleSeed => ({ form: emptyForm() })

/** A rule about calls such as the one of a request. */
export function seedFromRequest(request: Request, then: 'allow' | 'deny'): RuleSeed {
  const call = callPreview(request.event, request.status.view)
  const clauses = suggestConditions(call?.args, call?.view)
  const cwd = projectDirectory(request) ?? ''
  const form: RuleFormState = {
    ...emptyForm(),
    then,
    scope: clauses.some((c) => c.on) ? 'when' : 'call',
    tool: call?.tool ?? '',
    clauses,
    reach: cwd ? 'project' : 'session',
    app: request.event.source_app,
    session: request.event.session_id,
    cwd,
  }
  return { form, from: request.id, call }
}

/** A rule about calls such as one that ran without a person: as proposed by the hub, for a file. */
export function seedFromCall(event: Event, line: PolicyLine): RuleSeed {
  const { source_app: app, session_id: session, cwd = '' } = line.draft
  const form = { ...emptyForm(), ...parseFileRule(line.rule), app, session, cwd }
  return { form, call: callPreview(event) }
}

/** A rule of hookback.json. */
export const seedFromFile = (json: string): RuleSeed => ({ form: { ...emptyForm(), ...parseFileRule(json) } })

/** The tests of a rule of the hub; undefined if it covers exactly one call. */
export function seedFromRule(rule: Rule): RuleSeed | undefined {
  if (rule.call) return undefined
  const form = emptyForm()
  form.then = rule.then
  form.tool = rule.tool
  form.scope = rule.when?.length ? 'when' : 'tool'
  form.clauses = (rule.when ?? []).map(({ argument, is, value }): ConditionDraft => {
    const kind = isNumber(value) ? 'number' : typeof value === 'boolean' ? 'flag' : 'text'
    return { argument, is, value: String(value), kind, on: true, here: '', added: true }
  })
  form.app = rule.source_app ?? ''
  form.session = rule.session_id ?? ''
  form.cwd = rule.cwd ?? ''
  form.reach = form.session ? 'session' : form.cwd ? 'project' : form.app ? 'agent' : 'everywhere'
  form.reason = rule.reason ?? ''
  return { form }
}

const termText = ({ not, key, value, regex }: Term) =>
  `${not ? '-' : ''}${key ? key + ':' : ''}${regex ? `/${value}/` : /\s/.test(value) ? `"${value}"` : value}`

/** Keys of the filter that are no arguments of a call. */
const eventKeys = new Set(
  'type model id error kind risk decided status outcome delivery request since from to'.split(' '),
)

/** The condition for a term of a filter; undefined if there is none. */
function termCondition({ not, key, value, regex }: Term): ConditionDraft | undefined {
  if (not || regex || value === '' || (key !== undefined && eventKeys.has(key))) return undefined
  const argument = key?.replace(/^(payload\.)?tool_input\./, '') ?? 'command'
  const stem = value.replace(/\*$/, '')
  const is = !value.includes('*')
    ? key === undefined
      ? 'contains'
      : 'equals'
    : stem.includes('*') || stem === ''
      ? 'glob'
      : 'starts_with'
  return { ...addedCondition(argument), is, value: is === 'starts_with' ? stem : value }
}

/** A rule about the calls that a filter of the events finds, within the conditions that a rule can have. */
export function seedFromFilter(text: string): RuleSeed {
  const form = { ...emptyForm(), clauses: [] as ConditionDraft[] }
  const ignored: string[] = []
  for (const term of termsOf(text)) {
    const plain = !term.not && !term.regex
    if (plain && term.key === 'tool' && !term.value.includes('*')) form.tool = term.value
    else if (plain && (term.key === 'agent' || term.key === 'app') && !term.value.includes('*'))
      form.app = term.value
    else if (plain && term.key === 'session') form.session = term.value
    else {
      const condition = term.key === 'tool' ? undefined : termCondition(term)
      if (condition) form.clauses.push(condition)
      else ignored.push(termText(term))
    }
  }
  form.reach = form.app && form.session ? 'session' : form.app ? 'agent' : 'everywhere'
  if (form.clauses.length === 0) form.clauses.push(addedCondition())
  return { form, ignored }
}
