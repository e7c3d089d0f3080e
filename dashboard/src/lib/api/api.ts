import { encode } from '../format/uri'
import { parseJson, toJson } from './exactJson'
import { KEY_HEADER, notifyRefused, signInKey } from './signInKey'
import type { Message, MessageDraft, Routes } from './schema'
import type { Event, Problem } from './types'
import { apiText } from './text'

const copy = apiText

/** An error response of the hub, or status 0 if the hub is unreachable. */
export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail ?? problem.title)
    this.name = 'ApiError'
  }
}

const unreachable: Problem = {
  ...problem(copy.unreachable, 0, 'unreachable', copy.unreachableDetail),
  hint: copy.unreachableHint,
}

export function problem(title: string, status: number, code: string, detail: string): Problem {
  return { type: 'about:blank', title, status, code, detail, error: detail }
}

/** Why the hub, or the browser itself, refused something. Any other error is thrown on. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ApiError) return error.problem
  if (!(error instanceof DOMException)) throw error
  return problem(error.message, 400, 'browser', error.message)
}

const ME = '/api/me'

/** The secret of the share link that this page shows. Its requests carry no other credentials. */
let shareSecret = ''
export const showShare = (secret: string) => void (shareSecret = secret)

export async function call<T>(path: string, init?: RequestInit): Promise<T> {
  const reading = init?.method === undefined
  // Reads are authenticated by the cookie alone; a stale key must not make them fail.
  const key = reading && path !== ME ? '' : signInKey()
  let answer: globalThis.Response
  let sent = key ? { ...init, headers: { ...init?.headers, [KEY_HEADER]: key } } : init
  if (shareSecret) sent = { ...init, credentials: 'omit', headers: { 'Hookback-Share': shareSecret } }
  try {
    answer = await fetch(path, sent)
  } catch {
    throw new ApiError(unreachable)
  }
  if (answer.status === 204) return undefined as T
  if (answer.ok) return await readBody<T>(answer)
  const problem = await readProblem(answer)
  if (problem.code === 'sign_in' && path !== ME && !shareSecret) notifyRefused(reading)
  throw new ApiError(problem)
}

/** Reads a body. A connection that ends meanwhile is a hub that can't be reached. */
async function readBody<T>(answer: globalThis.Response): Promise<T> {
  try {
    return parseJson(await answer.text()) as T
  } catch (error) {
    if (error instanceof SyntaxError) throw error // the hub's fault
    throw new ApiError(unreachable)
  }
}

async function readProblem(answer: globalThis.Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as Partial<Problem>
    if (typeof body.code === 'string')
      return { title: answer.statusText, status: answer.status, ...body } as Problem
  } catch {
    // Not a problem document, such as a proxy's error page: only the status is known.
  }
  const { status, statusText } = answer
  return problem(statusText, status, 'internal', copy.status(status, statusText))
}

/** CSRF protection: the hub accepts changes only with a JSON content type, even without a body. */
function change<T>(method: string, path: string, body?: unknown, init?: RequestInit): Promise<T> {
  const headers = { 'Content-Type': 'application/json', ...init?.headers }
  return call<T>(path, { ...init, method, headers, ...(body !== undefined && { body: toJson(body) }) })
}

type Path<M extends keyof Routes> = keyof Routes[M] & string
type Params<R> = R extends { params: infer P } ? (object extends P ? [params?: P] : [params: P]) : []
type Body<R> = R extends { request: infer B } ? [body: B, signal?: AbortSignal] : []
type Result<R> = R extends { response: infer A } ? A : unknown

/** The path of a route, with the encoded values that it names. The others become the query. */
export const pathOf = <P extends Path<'GET'>>(path: P, ...sent: Params<Routes['GET'][P]>): string =>
  fill(path, ...(sent as unknown as [object?]))

function fill(path: string, params: object = {}): string {
  const values = new Map<string, unknown>(Object.entries(params))
  const filled = path.replaceAll(/(?<=\/):(\w+)/g, (_, name: string) => {
    const value = String(values.get(name))
    values.delete(name)
    return encode(value)
  })
  const query = new URLSearchParams()
  for (const [name, value] of values)
    if (value !== undefined) for (const one of [value].flat()) query.append(name, String(one))
  return query.size > 0 ? `${filled}?${query}` : filled
}

/** A route without params takes undefined for them, so that a signal can't take their place. */
type Query<R> = R extends { params: unknown } ? Params<R> : [params?: undefined]

/** Reads a route of the hub: `get('/events/:id', { id })`. The params are the values of its path and query. */
export function get<P extends Path<'GET'>>(
  path: P,
  ...sent: [...Query<Routes['GET'][P]>, signal?: AbortSignal]
): Promise<Result<Routes['GET'][P]>> {
  const [params, signal] = sent as unknown as [object?, AbortSignal?]
  return call(fill(path, params), signal && { signal })
}

/**
 * Returns the function for a method that changes something: `post('/events/:id/respond', { id }, answer)`.
 * The params are the values of the path; a path without any has no params.
 */
const changeBy =
  <M extends Exclude<keyof Routes, 'GET'>>(method: M) =>
  <P extends Path<M>>(path: P, ...sent: [...Params<Routes[M][P]>, ...Body<Routes[M][P]>]) => {
    const values: unknown[] = [...sent]
    const filled = path.includes('/:') ? fill(path, values.shift() as object) : path
    const [body, signal] = values as [unknown, AbortSignal?]
    return change<Result<Routes[M][P]>>(method, filled, body, signal && { signal })
  }

export const post = changeBy('POST')
export const put = changeBy('PUT')
export const remove = changeBy('DELETE')

/**
 * Events that match every filter, oldest first; without `after`, the newest of them. Large questions
 * are shortened; with summary 2, each question with its event has at most 1.5 kB.
 */
export const find = (filter: Routes['GET']['/events']['params'], summary: 1 | 2 = 1): Promise<Event[]> =>
  get('/events', { summary, ...filter })

export type SearchRange = Omit<Routes['GET']['/events/search']['params'], 'filter' | 'q'>

/**
 * Searches a part of the hub's history, newest first unless `after` is given. If the
 * result is not `complete`, continue with its `searchedTo` as `before` (or `after`),
 * even if it is empty.
 */
export const search = (filter: string, within: SearchRange = {}, signal?: AbortSignal) =>
  get('/events/search', { filter, ...within }, signal)

/** Sends a message to a session. A repeat with the same key returns the first message. */
export const sendMessage = (draft: MessageDraft, key: string) =>
  change<Message>('POST', '/api/session/messages', draft, { headers: { 'Idempotency-Key': key } })

/** The browser's time zone, in which the hub counts days. */
export const tz = Intl.DateTimeFormat().resolvedOptions().timeZone
