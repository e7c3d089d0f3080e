import { encode } from '../format/uri'
import { parseJson, toJson } from './exactJson'
import { KEY_HEADER, notifyRefused, signInKey } from './signInKey'
import type {
  Confirmation,
  CredentialAction,
  Me,
  NotificationSettings,
  Overview,
  PolicyLine,
  RiskyCalls,
  Passkey,
  PasskeyOptions,
  Person,
  PushKey,
  SessionDetail,
  SessionFiles,
  SessionPage,
  SignIn,
  TestRequest,
  Token,
  Message,
  MessageDraft,
} from './schema'
import type {
  Approvals,
  BatchResult,
  Event,
  FilterOptions,
  QuestionContext,
  LinkPreview,
  Problem,
  Response,
  SearchResult,
} from './types'
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

function problem(title: string, status: number, code: string, detail: string): Problem {
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

export const post = <T>(path: string, body: unknown, signal?: AbortSignal) =>
  change<T>('POST', path, body, signal && { signal })
export const put = <T>(path: string, body: unknown) => change<T>('PUT', path, body)
export const remove = <T>(path: string, body?: object) => change<T>('DELETE', path, body)

/** The request to create a token. */
export interface NewToken {
  name: string
  /** The owner; absent for a token of an agent. */
  person?: string
  apps?: string[]
  /** Expiry, Unix ms; absent if it does not expire. */
  expiresAt?: number
}

export type EventQuery = Partial<
  Record<'source_app' | 'session_id' | 'hook_event_type' | 'tool_name' | 'status' | 'q', string> &
    Record<'before' | 'after' | 'limit' | 'from' | 'to', number>
>

/** The newest events, oldest first. Large questions are shortened. */
export const recent = (limit = 300) => call<Event[]>(`/events/recent?limit=${limit}&summary=1`)

/**
 * Events that match every filter, oldest first; without `after`, the newest of them. Large questions
 * are shortened; with summary 2, each question with its event has at most 1.5 kB.
 */
export function find(filter: EventQuery, summary: 1 | 2 = 1): Promise<Event[]> {
  const query = new URLSearchParams({ summary: String(summary) })
  for (const [name, value] of Object.entries(filter)) query.set(name, String(value))
  return call<Event[]>(`/events?${query}`)
}

export interface SearchRange {
  /** Inclusive start by the hub's clock, Unix ms. */
  from?: number
  /** Exclusive end, Unix ms. */
  to?: number
  before?: number
  after?: number
  limit?: number
}

/**
 * Searches a part of the hub's history, newest first unless `after` is given. If the
 * result is not `complete`, continue with its `searchedTo` as `before` (or `after`),
 * even if it is empty.
 */
export function search(
  filter: string,
  within: SearchRange = {},
  signal?: AbortSignal,
): Promise<SearchResult> {
  const query = new URLSearchParams({ filter })
  for (const [name, value] of Object.entries(within)) query.set(name, String(value))
  return call<SearchResult>(`/events/search?${query}`, signal && { signal })
}

/** The known names of agents, sessions, event types and tools. */
export const filterOptions = () => call<FilterOptions>('/events/filter-options')

/** One event with its full payload. */
export const event = (id: number) => call<Event>(`/events/${id}`)

/** Lets the hub send a test request. */
export const startTestRequest = () => post<TestRequest>('/api/test-requests', {})

/** Answers a question; the first answer wins. Returns the updated event. */
export const respond = (id: number, answer: Response) => post<Event>(`/events/${id}/respond`, answer)

/** Undoes an answer in its undo window. Returns the updated event. */
export const undo = (id: number) => post<Event>(`/events/${id}/undo`, {})

/** Approves the listed permissions in bulk; one result each, in the same order. */
export const approve = (list: Approvals) => post<BatchResult[]>('/events/approve', list)

/** Retries the delivery of an answer immediately. Returns the updated event. */
export const redeliver = (id: number) => post<Event>(`/events/${id}/redeliver`, {})

/** Marks an undelivered answer as handled by a person. Returns the updated event. */
export const handled = (id: number) => post<Event>(`/events/${id}/handled`, {})

/** Cancels a question as a person, with its duplicates at that revision. Returns the updated event. */
export const cancel = (id: number, reason: string, revision?: number) =>
  post<Event>(`/events/${id}/cancel`, { reason: reason || undefined, revision })

/** The session's last events before a question, and earlier outcomes of the same call. */
export const questionContext = (id: number) => call<QuestionContext>(`/events/${id}/context`)

/** Sessions, most recently active first. cursor: the next_cursor of the previous page. */
export function sessions(
  filter: Partial<Record<'source_app' | 'person' | 'q' | 'cursor', string> & { limit: number }>,
): Promise<SessionPage> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, String(value))
  return call<SessionPage>(`/api/sessions?${query}`)
}

const sessionQuery = (app: string, session: string) =>
  new URLSearchParams({ source_app: app, session_id: session })

/** The totals of a session and its tools. */
export const session = (app: string, id: string) =>
  call<SessionDetail>(`/api/session?${sessionQuery(app, id)}`)

/** The files that a session changed. */
export const sessionFiles = (app: string, id: string) =>
  call<SessionFiles>(`/api/session/files?${sessionQuery(app, id)}`)

/** The newest messages to a session, oldest first. */
export const sessionMessages = (app: string, id: string) =>
  call<Message[]>(`/api/session/messages?${sessionQuery(app, id)}`)

/** Sends a message to a session. A repeat with the same key returns the first message. */
export const sendMessage = (draft: MessageDraft, key: string) =>
  change<Message>('POST', '/api/session/messages', draft, { headers: { 'Idempotency-Key': key } })

/** Withdraws a message that was not handed over. */
export const withdrawMessage = (id: number) => remove<Message>(`/api/session/messages/${id}`)

/** The download path of a session. */
export const exportPath = (app: string, session: string, format: 'ndjson' | 'markdown') =>
  `/api/session/export?${sessionQuery(app, session)}&format=${format}`

/** Statistics of the last days, in the browser's time zone. */
export function overview(days = 14): Promise<Overview> {
  const tz = Intl.DateTimeFormat().resolvedOptions().timeZone
  return call<Overview>(`/api/overview?${new URLSearchParams({ days: String(days), tz })}`)
}

/** The ratings of risky and refused tool calls. */
export const riskyCalls = (query: Record<string, string>) =>
  call<RiskyCalls>(`/api/risky-calls?${new URLSearchParams(query)}`)

/** A rule for hookback.json about calls like the one that an event starts. */
export const policyLine = (event: number) => call<PolicyLine>(`/api/policy-line?event=${event}`)

/** The identity of this page. */
export const me = () => call<Me>(ME)

/** Signs in with the code of a link; a new person provides a name. */
export const signIn = (code: string, name?: string) =>
  post<{ key: string; me: Me }>('/api/sign-in', name === undefined ? { code } : { code, name })

/** Ends this browser's sign-in. */
export const signOut = () => post<unknown>('/api/sign-out', {})

/** Locks or unlocks the hub. A locked hub accepts answers only from signed-in people. */
export const lock = (locked: boolean) => post<unknown>('/api/lock', { locked })

/** All people of the hub. */
export const people = () => call<Person[]>('/api/people')

const personPath = (name: string) => `/api/people/${encode(name)}`

/** Adds a person. The result contains their one-time sign-in link. */
export const invite = (person: Pick<Person, 'name' | 'role' | 'email'>) => post<Person>('/api/people', person)

/** Changes a person's role or e-mail address. The role admin takes a passkey if the hub uses passkeys. */
export const changePerson = (
  name: string,
  to: Partial<Pick<Person, 'role' | 'email' | 'handles'>> & Confirmation,
) => post<Person>(personPath(name), to)

/** Creates another one-time sign-in link for oneself, or for a person who has not signed in. */
export const createSignInLink = (name: string, proof: Confirmation) =>
  post<Person>(`${personPath(name)}/link`, proof)

/** Takes a person's account back to the state before the first sign-in. */
export const resetPerson = (name: string, proof: Confirmation) =>
  post<Person>(`${personPath(name)}/reset`, proof)

/** Removes a person with their sign-ins and tokens. */
export const removePerson = (name: string) => remove<unknown>(personPath(name))

/** The user's sign-ins; for an admin, the sign-ins of everyone. */
export const signIns = () => call<SignIn[]>('/api/sign-ins')

/** Revokes a sign-in; its open pages are notified within a second. */
export const revokeSignIn = (id: string) => remove<unknown>(`/api/sign-ins/${id}`)

/** The tokens, without their secrets. */
export const tokens = () => call<Token[]>('/api/tokens')

/** Creates a token. Only this result contains its secret. */
export const createToken = (token: NewToken) => post<Token>('/api/tokens', token)

/** Revokes a token. */
export const revokeToken = (id: string) => remove<unknown>(`/api/tokens/${id}`)

/** Extends the deadline of a question; 0 removes it. Returns the updated event. */
export const extend = (id: number, seconds: number) => post<Event>(`/events/${id}/extend`, { seconds })

/** Fetches the request of a signed link, without consuming the link. */
export const openLink = (id: number, token: string) => post<LinkPreview>(`/hitl/${id}/link`, { token })

/** Answers with a signed link as its recipient; the link works once. Returns the updated event. */
export const voteByLink = (id: number, vote: Response & { token: string }) =>
  post<Event>(`/hitl/${id}/vote`, vote)

/** The public key for Web Push subscriptions. */
export const pushKey = () => call<PushKey>('/api/push/key')

/** Enables Web Push for this browser; for a signed-in person, about their requests. */
export const subscribeBrowser = (subscription: PushSubscriptionJSON) =>
  post<NotificationSettings>('/api/push', subscription)

/** Disables Web Push for this browser. */
export const unsubscribeBrowser = (endpoint: string) =>
  remove<NotificationSettings>('/api/push', { endpoint })

/** The passkeys of the signed-in person. */
export const passkeys = () => call<Passkey[]>('/api/passkeys')

/** The options to create a passkey. */
export const newPasskey = (proof: Confirmation) => post<PasskeyOptions>('/api/passkeys/new', proof)

/** The challenge that a passkey must sign for exactly this change of credentials. */
export const confirmOptions = (action: CredentialAction) =>
  post<PasskeyOptions>('/api/passkeys/confirm', action)

/** Registers a passkey that the browser created. */
export const addPasskey = (name: string, credential: object) =>
  post<Passkey>('/api/passkeys', { name, credential })

/** Removes a passkey of the signed-in person. */
export const removePasskey = (id: string, proof: Confirmation) =>
  remove<unknown>(`/api/passkeys/${id}`, proof)

/** The challenge that a passkey must sign for exactly this answer. */
export const challenge = (id: number, response: Response) =>
  post<PasskeyOptions>('/api/passkeys/challenge', { id, response })
