import type { HumanInTheLoop, Json, JsonObject, FormQuestion, Response } from '../types'

/** Which form of a request is open. */
export type Panel = 'none' | 'approve' | 'deny' | 'edit' | 'cancel' | 'comment' | 'extend'

export interface DraftState {
  panel: Panel
  text: string
  reason: string
  comment: string
  /** With a denial: do not ask again in this session. */
  again: boolean
  /** The suggestion to send back with an approval, by its place; -1: none. */
  remember: number
  /** Slot of a question's id → picked labels. */
  picks: Record<string, string[]>
  /** Slot of a question's id → a text of the person's own; undefined: not wanted. */
  other: Record<string, string | undefined>
  /** Slot of an argument's name → the text of its field. */
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
 * The place of a name that an agent chose: a name such as "constructor" or
 * "__proto__" must not be found where nothing was put.
 */
export const safeKey = (name: string): string => '=' + name

const storageKey = (id: number) => `hookback.draft.${id}`

/**
 * What a person has typed for a request but not sent yet. It outlives a reload and
 * a look at another request, and goes when the answer has been taken.
 */
export class Draft {
  readonly form: DraftState = $state(blank())
  /** Whether the person is at it: a form that was found open takes no focus by itself. */
  isActive = false

  constructor(readonly id: number) {
    try {
      const saved: unknown = JSON.parse(sessionStorage.getItem(storageKey(id)) ?? 'null')
      if (saved && typeof saved === 'object') Object.assign(this.form, saved)
    } catch {
      // Nothing kept, or nothing readable: a blank draft.
    }
  }

  save(): void {
    try {
      const text = JSON.stringify(this.form)
      if (text === JSON.stringify(blank())) sessionStorage.removeItem(storageKey(this.id))
      else sessionStorage.setItem(storageKey(this.id), text)
    } catch {
      // The draft lives as long as the page then.
    }
  }

  clear(): void {
    Object.assign(this.form, blank())
    this.save()
  }
}

/** The answer to one of several questions: a label, labels or a text; undefined while there is none. */
export function answerTo(q: FormQuestion, form: DraftState): Json | undefined {
  const own = form.other[safeKey(q.id)]?.trim()
  if (!q.options?.length) return own || undefined
  const picked = q.options.map((o) => o.label).filter((label) => form.picks[safeKey(q.id)]?.includes(label))
  if (q.multiple) {
    const all = own ? [...picked, own] : picked
    return all.length > 0 ? all : undefined
  }
  return own || picked[0]
}

/** Every answer, or undefined while one is missing. */
export function answersTo(questions: FormQuestion[], form: DraftState): Response['answers'] | undefined {
  const answers: [string, Json][] = []
  for (const q of questions) {
    const answer = answerTo(q, form)
    if (answer === undefined) return undefined
    answers.push([q.id, answer])
  }
  return Object.fromEntries(answers)
}

/** Everything a person has written or picked for a request, as text; empty when that is nothing. */
export function draftText(question: HumanInTheLoop, form: DraftState): string {
  const lines = [form.text, form.reason, form.comment]
  for (const q of question.questions ?? []) {
    const picked = (q.options ?? []).map((o) => o.label).filter((l) => form.picks[safeKey(q.id)]?.includes(l))
    const all = [...picked, form.other[safeKey(q.id)]?.trim() ?? ''].filter((a) => a !== '')
    if (all.length > 0) lines.push(`${q.header ?? q.question}: ${all.join(', ')}`)
  }
  const args = editableArguments(question)
  if (args)
    for (const field of editFields(args, form.fields))
      if (field.changed) lines.push(`${field.name}: ${field.text}`)
  return lines.filter((line) => line.trim() !== '').join('\n')
}

/** One argument of a tool call as a field of a form. */
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

/** The fields of an edit: each argument keeps its JSON type. */
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

function parseField(kind: Field['kind'], text: string, was: Json): Pick<Field, 'changed' | 'value' | 'error'> {
  if (kind === 'text') return { changed: true, value: text }
  if (kind === 'switch') return { changed: true, value: text === 'true' }
  if (kind === 'number') {
    const value = Number(text)
    if (text.trim() === '' || !Number.isFinite(value))
      return { changed: true, value: was, error: 'This must be a number.' }
    return { changed: value !== was, value }
  }
  try {
    const value = JSON.parse(text) as Json
    return { changed: JSON.stringify(value) !== JSON.stringify(was), value }
  } catch (error) {
    return { changed: true, value: was, error: `This is not JSON: ${(error as Error).message}` }
  }
}

/** The whole arguments object with the edits in it. */
export const editedArguments = (fields: Field[]): JsonObject =>
  Object.fromEntries(fields.map((f) => [f.name, f.value]))

/** Why these arguments can't be edited here; undefined when they can. */
export function editBlocker(args: Json | undefined): string | undefined {
  const unsafe = (v: Json): boolean => {
    if (typeof v === 'number') return Number.isInteger(v) && !Number.isSafeInteger(v)
    return v !== null && typeof v === 'object' && Object.values(v).some(unsafe)
  }
  return args !== undefined && unsafe(args)
    ? 'These arguments hold a number too large for a browser to keep exactly. Approve or deny them as they are.'
    : undefined
}

/** The arguments a person may change; undefined when the agent or the browser does not allow it. */
export function editableArguments(q: HumanInTheLoop): JsonObject | undefined {
  const args = q.toolCall?.arguments
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args)
  return q.toolCall?.editable === true && isObject && !editBlocker(args) ? args : undefined
}

/** The words in which the hub tells that it took a secret out. */
export const hasRedacted = (args: Json): boolean => JSON.stringify(args).includes('[redacted:')
