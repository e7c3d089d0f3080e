import type { HumanInTheLoop, Json, JsonObject, FormQuestion, Response } from '../../lib/api/types'
import { isNumber, isObject, numbersIn, parseJson, toJson } from '../../lib/api/exactJson'
import { readStored, store } from '../../lib/page/stored'
import { inboxText } from './text'

/** The open form of a request. */
export type Panel = 'none' | 'approve' | 'deny' | 'edit' | 'cancel' | 'comment' | 'extend' | 'ask' | 'other'

export interface DraftState {
  panel: Panel
  text: string
  reason: string
  comment: string
  /** With a denial: also deny the same call for the rest of the session. */
  again: boolean
  /** Index of the suggestion to return with an approval; -1 for none. */
  remember: number
  /** safeKey of a question's id → chosen labels. */
  picks: Record<string, string[]>
  /** safeKey of a question's id → free text; undefined if not used. */
  other: Record<string, string | undefined>
  /** safeKey of an argument's name → the text of its field. */
  fields: Record<string, string>
}

const blank = (): DraftState => ({
  panel: 'none',
  text: '',
  reason: '',
  comment: '',
  again: false,
  remember: -1,
  picks: {},
  other: {},
  fields: {},
})

/**
 * A map key for a name that an agent chose. The prefix keeps "constructor" or
 * "__proto__" from matching inherited properties.
 */
export const safeKey = (name: string): string => '=' + name

const storageKey = (id: number) => `hookback.draft.${id}`

/**
 * The unsent input of a person for one request. It is kept in sessionStorage, so it
 * survives a reload, until the answer is accepted.
 */
export class Draft {
  readonly form: DraftState = $state(blank())
  /** Whether the person opened the form; a restored form does not take the focus. */
  isActive = false

  constructor(readonly id: number) {
    const saved = readStored(storageKey(id), 'sessionStorage')
    if (saved && typeof saved === 'object') Object.assign(this.form, saved)
  }

  save(): void {
    const isBlank = JSON.stringify(this.form) === JSON.stringify(blank())
    store(storageKey(this.id), isBlank ? undefined : this.form, 'sessionStorage')
  }

  clear(): void {
    Object.assign(this.form, blank())
    this.save()
  }
}

/** The answer to one question: a label, several labels or a text; undefined while there is none. */
export function answerTo(q: FormQuestion, form: DraftState): Json | undefined {
  const own = form.other[safeKey(q.id)]?.trim()
  if (!q.options?.length) return own || undefined
  const chosenLabels = q.options
    .map((o) => o.label)
    .filter((label) => form.picks[safeKey(q.id)]?.includes(label))
  if (q.multiple) {
    const all = own ? [...chosenLabels, own] : chosenLabels
    return all.length > 0 ? all : undefined
  }
  return own || chosenLabels[0]
}

/** All answers; undefined while one is missing. */
export function answersTo(questions: FormQuestion[], form: DraftState): Response['answers'] | undefined {
  const answers: [string, Json][] = []
  for (const q of questions) {
    const answer = answerTo(q, form)
    if (answer === undefined) return undefined
    answers.push([q.id, answer])
  }
  return Object.fromEntries(answers)
}

/** The answer to a form; undefined while an answer or its reason is missing. */
export function formAnswer(question: HumanInTheLoop, form: DraftState): Response | undefined {
  const answers = answersTo(question.questions ?? [], form)
  const reason = form.reason.trim()
  if (!answers || (question.reasonRequired === 'always' && !reason)) return undefined
  return reason ? { answers, reason } : { answers }
}

/** The whole draft as text; empty without any input. */
export function draftText(question: HumanInTheLoop, form: DraftState): string {
  const lines = [form.text, form.reason, form.comment]
  for (const q of question.questions ?? []) {
    const chosenLabels = (q.options ?? [])
      .map((o) => o.label)
      .filter((l) => form.picks[safeKey(q.id)]?.includes(l))
    const all = [...chosenLabels, form.other[safeKey(q.id)]?.trim() ?? ''].filter((a) => a !== '')
    if (all.length > 0) lines.push(`${q.header ?? q.question}: ${all.join(', ')}`)
  }
  const args = editableArguments(question)
  if (args)
    for (const field of editFields(args, form.fields))
      if (field.changed) lines.push(`${field.name}: ${field.after}`)
  return lines.filter((line) => line.trim() !== '').join('\n')
}

/** A form field for one argument of a tool call. */
export interface Field {
  name: string
  kind: 'text' | 'number' | 'switch' | 'json'
  before: string
  /** The text in the form. */
  text: string
  /** The text of the value that is sent; the diff compares it with the one before. */
  after: string
  changed: boolean
  error?: string
  value: Json
}

const kindOf = (v: Json): Field['kind'] => {
  if (typeof v === 'string') return 'text'
  if (isNumber(v)) return 'number'
  return typeof v === 'boolean' ? 'switch' : 'json'
}

/** The form fields of the arguments; each keeps its JSON type. */
export function editFields(args: JsonObject, edits: Record<string, string>): Field[] {
  return Object.entries(args).map(([name, was]): Field => {
    const before = typeof was === 'string' ? was : toJson(was, 2)
    const text = edits[safeKey(name)] ?? before
    const field: Field = {
      name,
      kind: kindOf(was),
      before,
      text,
      after: text,
      changed: text !== before,
      value: was,
    }
    return field.changed ? { ...field, ...parseField(field) } : field
  })
}

function parseField({ kind, text, before }: Field): Partial<Field> {
  if (kind === 'text') return { value: text }
  let value: Json
  try {
    value = parseJson(text) as Json
  } catch (error) {
    const { mustBeNumber, notJson } = inboxText.edits
    return { error: kind === 'number' ? mustBeNumber : notJson((error as Error).message) }
  }
  if (kind === 'number' && !isNumber(value)) return { error: inboxText.edits.mustBeNumber }
  const grouped = groupedNumber(text, before)
  if (grouped) return { error: inboxText.edits.grouped(grouped, decimalOf(grouped)) }
  const after = toJson(value, 2)
  return { value, after, changed: after !== before }
}

/** A new number with a dot and three digits. Many people read it as thousands; JSON reads a decimal. */
function groupedNumber(text: string, before: string): string | undefined {
  const known = new Set(Array.from(numbersIn(before), String))
  return Array.from(numbersIn(text), String).find((n) => /^-?[1-9]\d{0,2}\.\d{3}$/.test(n) && !known.has(n))
}

/** The decimal in a form that nobody reads as thousands. */
const decimalOf = (n: string) => (n.endsWith('0') ? String(Number(n)) : n + '0')

/** The arguments object with the edits applied. */
export const editedArguments = (fields: Field[]): JsonObject =>
  Object.fromEntries(fields.map((f) => [f.name, f.value]))

/** The arguments a person may edit; undefined if the agent does not allow it. */
export function editableArguments(q: HumanInTheLoop): JsonObject | undefined {
  const args = q.toolCall?.arguments
  return q.toolCall?.editable === true && isObject(args) ? args : undefined
}

/** Whether the arguments contain the hub's placeholder for a redacted secret. */
export const hasRedacted = (args: Json): boolean => JSON.stringify(args).includes('[redacted:')
