import { KEY_HEADER, notifyRefused, signInKey } from './signInKey'
import type {
  Me,
  NotificationSettings,
  Overview,
  Passkey,
  PasskeyOptions,
  Person,
  PushKey,
  SessionDetail,
  SessionPage,
  SignIn,
  Token,
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

/** A refusal of the hub, or the hub not being there at all (status 0). */
export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail ?? problem.title)
    this.name = 'ApiError'
  }
}

const unreachable: Problem = {
  ...problem('No connection', 0, 'unreachable', 'The hub could not be reached.'),
  hint: 'Nothing was sent. Check that it runs, then try again.',
}

function problem(title: string, status: number, code: string, detail: string): Problem {
  return { type: 'about:blank', title, status, code, detail, error: detail }
}

const ME = '/api/me'

export async function call<T>(path: string, init?: RequestInit): Promise<T> {
  const reading = init?.method === undefined
  // Reading goes by the cookie; a key that is not good any more must not stand in its way.
  const key = reading && path !== ME ? '' : signInKey()
  let answer: globalThis.Response
  try {
    answer = await fetch(path, key ? { ...init, headers: { ...init?.headers, [KEY_HEADER]: key } } : init)
  } catch {
    throw new ApiError(unreachable)
  }
  if (answer.status === 204) return undefined as T
  if (answer.ok) return (await answer.json()) as T
  const problem = await readProblem(answer)
  if (problem.code === 'sign_in' && path !== ME) notifyRefused(reading)
  throw new ApiError(problem)
}

async function readProblem(answer: globalThis.Response): Promise<Problem> {
  try {
    const body = (await answer.json()) as Partial<Problem>
    if (typeof body.code === 'string')
      return { title: answer.statusText, status: answer.status, ...body } as Problem
  } catch {
    // Not the hub's own words, such as a proxy's page: the status is all there is.
  }
  const { status, statusText } = answer
  return problem(statusText, status, 'internal', `The hub answered ${status} ${statusText}.`)
}

export function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const headers = { 'Content-Type': 'application/json' }
  return call<T>(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
}

/** What a new credential is to be. */
export interface NewToken {
  name: string
  /** Whose it is; absent: an agent's. */
  person?: string
  apps?: string[]
  /** When it ends, Unix ms; absent: not by itself. */
  expiresAt?: number
}

/** The hub takes no request that changes something without this type, were its body empty. */
function remove<T>(path: string): Promise<T> {
  return call<T>(path, { method: 'DELETE', headers: { 'Content-Type': 'application/json' } })
}

export type EventQuery = Partial<
  Record<'source_app' | 'session_id' | 'hook_event_type' | 'tool_name' | 'status' | 'q', string> &
    Record<'before' | 'after' | 'limit' | 'from' | 'to', number>
>

/** The newest events, oldest first. */
export const recent = (limit = 300) => call<Event[]>(`/events/recent?limit=${limit}`)

/** Events that match every filter, oldest first; without `after`, the newest of them. */
export function find(filter: EventQuery): Promise<Event[]> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) query.set(name, String(value))
  return call<Event[]>(`/events?${query}`)
}

export interface SearchRange {
  /** Not before this time, the hub's clock, Unix ms. */
  from?: number
  /** Before this time. */
  to?: number
  before?: number
  after?: number
  limit?: number
}

/**
 * Looks through a part of the hub's whole history for what matches a filter, newest
 * first unless `after` is given. Unless the result is `complete`, ask on with its
 * `searchedTo` as `before` (or `after`), even when it is empty.
 */
export function search(filter: string, within: SearchRange = {}, signal?: AbortSignal): Promise<SearchResult> {
  const query = new URLSearchParams({ filter })
  for (const [name, value] of Object.entries(within)) query.set(name, String(value))
  return call<SearchResult>(`/events/search?${query}`, signal && { signal })
}

/** The names the hub knows: of agents, sessions, types and tools. */
export const filterOptions = () => call<FilterOptions>('/events/filter-options')

/** One event, whole. */
export const event = (id: number) => call<Event>(`/events/${id}`)

/** Stores an event, as an agent does. Returns it as it was stored. */
export const send = (event: Omit<Event, 'id'>) => post<Event>('/events', event)

/** Waits for an answer as its agent does; undefined when there is none after that many seconds. */
export const waitForAnswer = (id: number, seconds: number) =>
  call<Response | undefined>(`/events/${id}/response?wait=${seconds}`)

/** Answers a question; the first answer wins. Returns the updated event. */
export const respond = (id: number, answer: Response) => post<Event>(`/events/${id}/respond`, answer)

/** Takes back an answer that is still held. Returns the updated event. */
export const undo = (id: number) => post<Event>(`/events/${id}/undo`, {})

/** Approves exactly the listed permissions; one result each, in their order. */
export const approve = (list: Approvals) => post<BatchResult[]>('/events/approve', list)

/** Tries an answer now that did not get to its agent. Returns the updated event. */
export const redeliver = (id: number) => post<Event>(`/events/${id}/redeliver`, {})

/** Notes that a person took care of an undelivered answer. Returns the updated event. */
export const handled = (id: number) => post<Event>(`/events/${id}/handled`, {})

/** Cancels a question as a person. Returns the updated event. */
export const cancel = (id: number, reason: string) =>
  post<Event>(`/events/${id}/cancel`, reason ? { reason } : {})

/** What led to a question: the session's last events, and how the same call fared before. */
export const questionContext = (id: number) => call<QuestionContext>(`/events/${id}/context`)

/** Sessions, the latest active first; cursor: the page behind another one. */
export function sessions(
  filter: Partial<Record<'source_app' | 'q' | 'cursor', string> & { limit: number }>,
): Promise<SessionPage> {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) if (value !== '') query.set(name, String(value))
  return call<SessionPage>(`/api/sessions?${query}`)
}

const sessionQuery = (app: string, session: string) =>
  new URLSearchParams({ source_app: app, session_id: session })

/** A session's sums and what its tools did. */
export const session = (app: string, id: string) => call<SessionDetail>(`/api/session?${sessionQuery(app, id)}`)

/** Where a session is downloaded from. */
export const exportPath = (app: string, session: string, format: 'ndjson' | 'markdown') =>
  `/api/session/export?${sessionQuery(app, session)}&format=${format}`

/** How people and agents did over the last days, in the page's own time zone. */
export function overview(days = 14): Promise<Overview> {
  const tz = Intl.DateTimeFormat().resolvedOptions().timeZone
  return call<Overview>(`/api/overview?${new URLSearchParams({ days: String(days), tz })}`)
}

/** Who this page is to the hub. */
export const me = () => call<Me>(ME)

/** Signs in by the code of a link; whoever is new gives a name. */
export const signIn = (code: string, name?: string) =>
  post<{ key: string; me: Me }>('/api/sign-in', name === undefined ? { code } : { code, name })

/** Ends this browser's sign-in. */
export const signOut = () => post<unknown>('/api/sign-out', {})

/** Whether only people who are signed in may answer. */
export const lock = (locked: boolean) => post<unknown>('/api/lock', { locked })

/** Everybody the hub knows. */
export const people = () => call<Person[]>('/api/people')

const personPath = (name: string) => `/api/people/${encodeURIComponent(name)}`

/** Makes a person known. Returns them with the link that signs them in, once. */
export const invite = (person: Pick<Person, 'name' | 'role' | 'email'>) => post<Person>('/api/people', person)

/** Changes what a person may, or where their mail goes. */
export const changePerson = (name: string, to: Partial<Pick<Person, 'role' | 'email'>>) =>
  post<Person>(personPath(name), to)

/** Makes another link for a person; it signs them in once. */
export const createSignInLink = (name: string) => post<Person>(`${personPath(name)}/link`, {})

/** Forgets a person; their sign-ins and tokens end with them. */
export const removePerson = (name: string) => remove<unknown>(personPath(name))

/** The browsers that are signed in: one's own, and everybody's for an admin. */
export const signIns = () => call<SignIn[]>('/api/sign-ins')

/** Ends a sign-in; its pages are told within a second. */
export const revokeSignIn = (id: string) => remove<unknown>(`/api/sign-ins/${id}`)

/** The credentials of programs, without their secrets. */
export const tokens = () => call<Token[]>('/api/tokens')

/** Makes a credential for a program. Its secret is in the answer, and nowhere else. */
export const createToken = (token: NewToken) => post<Token>('/api/tokens', token)

/** Ends a credential. */
export const revokeToken = (id: string) => remove<unknown>(`/api/tokens/${id}`)

/** Gives people more time for a question; 0: all they want. Returns the updated event. */
export const extend = (id: number, seconds: number) => post<Event>(`/events/${id}/extend`, { seconds })

/** Shows the request of a signed link. It is not used up by that. */
export const openLink = (id: number, token: string) => post<LinkPreview>(`/hitl/${id}/link`, { token })

/** Answers by a signed link, once, as the person it was sent to. Returns the updated event. */
export const voteByLink = (id: number, vote: Response & { token: string }) =>
  post<Event>(`/hitl/${id}/vote`, vote)

/** The key that this browser subscribes to Web Push with. */
export const pushKey = () => call<PushKey>('/api/push/key')

/** Tells this browser of requests; who is signed in, of theirs. */
export const subscribeBrowser = (subscription: PushSubscriptionJSON) =>
  post<NotificationSettings>('/api/push', subscription)

/** Tells it no more. */
export const unsubscribeBrowser = (endpoint: string) =>
  call<NotificationSettings>('/api/push', {
    method: 'DELETE',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ endpoint }),
  })

/** One's own passkeys. */
export const passkeys = () => call<Passkey[]>('/api/passkeys')

/** What the browser makes a passkey of. */
export const newPasskey = () => post<PasskeyOptions>('/api/passkeys/new', {})

/** Registers the passkey that the browser made. */
export const addPasskey = (name: string, credential: object) =>
  post<Passkey>('/api/passkeys', { name, credential })

/** Forgets a passkey of one's own. */
export const removePasskey = (id: string) => remove<unknown>(`/api/passkeys/${id}`)

/** What one's passkey signs for exactly this answer. */
export const challenge = (id: number, response: Response) =>
  post<PasskeyOptions>('/api/passkeys/challenge', { id, response })
