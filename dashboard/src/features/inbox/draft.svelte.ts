import type { HumanInTheLoop, Json, JsonObject, FormQuestion, Response } from '../../lib/api/types'
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
    try {
      const saved: unknown = JSON.parse(sessionStorage.getItem(storageKey(id)) ?? 'null')
      if (saved && typeof saved === 'object') Object.assign(this.form, saved)
    } catch {
      // Nothing stored, or unreadable: start blank.
    }
  }

  save(): void {
    try {
      const text = JSON.stringify(this.form)
      if (text === JSON.stringify(blank())) sessionStorage.removeItem(storageKey(this.id))
      else sessionStorage.setItem(storageKey(this.id), text)
    } catch {
      // Storage is unavailable; the draft lives as long as the page.
    }
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
      if (field.changed) lines.push(`${field.name}: ${field.text}`)
  return lines.filter((line) => line.trim() !== '').join('\n')
}

/** A form field for one argument of a tool call. */
export interface Field {
  name: string
  kind: 'text' | 'number' | 'switch' | 'json'
  before: string
  text: string
  changed: boolean
  error?: string
  value: Json
}

const kindOf = (v: Json): Field['kind'] => {
  if (typeof v === 'string') return 'text'
  if (typeof v === 'number') return 'number'
  return typeof v === 'boolean' ? 'switch' : 'json'
}

/** The form fields of the arguments; each keeps its JSON type. */
export function editFields(args: JsonObject, edits: Record<string, string>): Field[] {
  return Object.entries(args).map(([name, was]): Field => {
    const kind = kindOf(was)
    const before = kind === 'text' ? String(was) : JSON.stringify(was, null, kind === 'json' ? 2 : 0)
    const text = edits[safeKey(name)] ?? before
    const field: Field = { name, kind, before, text, changed: false, value: was }
    if (text === before) return field
    return { ...field, ...parseField(kind, text, was) }
  })
}

function parseField(
  kind: Field['kind'],
  text: string,
  was: Json,
): Pick<Field, 'changed' | 'value' | 'error'> {
  if (kind === 'text') return { changed: true, value: text }
  if (kind === 'switch') return { changed: true, value: text === 'true' }
  if (kind === 'number') {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value))
      return { changed: true, value: was, error: inboxText.edits.mustBeNumber }
    return { changed: value !== was, value }
  }
  try {
    const value = JSON.parse(text) as Json
    return { changed: JSON.stringify(value) !== JSON.stringify(was), value }
  } catch (error) {
    return { changed: true, value: was, error: inboxText.edits.notJson((error as Error).message) }
  }
}

/** The arguments object with the edits applied. */
export const editedArguments = (fields: Field[]): JsonObject =>
  Object.fromEntries(fields.map((f) => [f.name, f.value]))

/** Why the arguments cannot be edited in a browser; undefined if they can. */
export function editBlocker(args: Json | undefined): string | undefined {
  const unsafe = (v: Json): boolean => {
    if (typeof v === 'number') return Number.isInteger(v) && !Number.isSafeInteger(v)
    return v !== null && typeof v === 'object' && Object.values(v).some(unsafe)
  }
  return args !== undefined && unsafe(args) ? inboxText.edits.unsafeNumber : undefined
}

/** The arguments a person may edit; undefined if the agent or the browser does not allow it. */
export function editableArguments(q: HumanInTheLoop): JsonObject | undefined {
  const args = q.toolCall?.arguments
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
  return q.toolCall?.editable === true && isObject && !editBlocker(args) ? args : undefined
}

/** Whether the arguments contain the hub's placeholder for a redacted secret. */
export const hasRedacted = (args: Json): boolean => JSON.stringify(args).includes('[redacted:')
