import { encode } from '../format/uri'

/** The current location. It is fully encoded in the URL. */
export type Place =
  | { screen: 'inbox'; id?: number }
  | { screen: 'review'; id: number }
  | { screen: 'vote'; id: number }
  | { screen: 'session'; app: string; session: string }
  | { screen: 'team'; tab: TeamTab }
  | { screen: 'settings'; tab: SettingsTab }
  | { screen: 'docs'; path: string }
  | { screen: 'policy' | 'now' | 'stream' | 'sessions' | 'overview' | 'shared' | 'notFound' }

export type Screen = Place['screen']

/** The tabs of Team, as in /team/people. */
export const teamTabs = ['people', 'tokens', 'coverage', 'audit'] as const
export type TeamTab = (typeof teamTabs)[number]

/** The tabs of Settings, as in /settings/agents. */
export const settingsTabs = ['agents', 'preferences', 'hub'] as const
export type SettingsTab = (typeof settingsTabs)[number]

const fixedPaths: Record<string, Place> = {
  '/': { screen: 'inbox' },
  '/inbox': { screen: 'inbox' },
  '/now': { screen: 'now' },
  '/policy': { screen: 'policy' },
  '/stream': { screen: 'stream' },
  '/sessions': { screen: 'sessions' },
  '/overview': { screen: 'overview' },
  '/shared': { screen: 'shared' },
}
for (const tab of teamTabs) fixedPaths[`/team/${tab}`] = { screen: 'team', tab }
for (const tab of settingsTabs) fixedPaths[`/settings/${tab}`] = { screen: 'settings', tab }

/** Paths of sections without a tab. */
const redirects: Record<string, string> = {
  '/team': '/team/people',
  '/settings': '/settings/agents',
  '/settings#hub': '/settings/hub', // opened by hookback pair
}

const withoutSlash = (path: string) => path.replace(/([^/])\/$/, '$1')

/** The URL to show for a URL, with its query and fragment. */
export function redirect(url: URL): URL {
  const path = withoutSlash(url.pathname)
  const to = redirects[path + url.hash] ?? redirects[path]
  if (!to) return url
  const shown = new URL(to, url)
  shown.search ||= url.search
  shown.hash = url.hash
  return shown
}

export function parsePath(path: string): Place {
  const place = fixedPaths[withoutSlash(path)]
  if (place) return place
  const request = /^\/(inbox|r)\/(\d{1,15})\/?$/.exec(path)
  if (request) return { screen: request[1] === 'r' ? 'review' : 'inbox', id: Number(request[2]) }
  const ballot = /^\/hitl\/(\d{1,15})\/vote\/?$/.exec(path)
  if (ballot) return { screen: 'vote', id: Number(ballot[1]) }
  const [app, session] = (/^\/sessions\/([^/]+)\/([^/]+)\/?$/.exec(path) ?? []).slice(1).map(decodeSegment)
  if (app !== undefined && session !== undefined) return { screen: 'session', app, session }
  if (/^\/(docs|licenses)(\/|$)/.test(path)) return { screen: 'docs', path: withoutSlash(path) }
  return { screen: 'notFound' }
}

/** The path of a session. at: the id of the event to show. */
export function sessionPath(app: string, session: string, at?: number): string {
  return `/sessions/${encodeSegment(app)}/${encodeSegment(session)}${at === undefined ? '' : '#' + at}`
}

// Browsers remove "." and ".." from paths, even percent-encoded, so such names get a
// leading tilde.
const encodeSegment = (name: string): string => encode(/^~*\.{1,2}$/.test(name) ? '~' + name : name)

function decodeSegment(part: string): string | undefined {
  try {
    const name = decodeURIComponent(part)
    return /^~+\.{1,2}$/.test(name) ? name.slice(1) : name
  } catch {
    return undefined // not percent-encoded UTF-8
  }
}

/** The event id in a fragment such as #123; undefined if there is none. */
export function eventInHash(hash: string): number | undefined {
  return /^#\d{1,15}$/.test(hash) ? Number(hash.slice(1)) : undefined
}

/** Delay of the address bar after replaceSoon, ms. */
const URL_DELAY = 100

class Router {
  private path = $state(location.pathname)
  private search = $state(location.search)
  private hash = $state(location.hash)

  place = $derived(parsePath(this.path))
  query = $derived(new URLSearchParams(this.search))
  /** The event id in the URL, as in /sessions/app/session#123. */
  event = $derived(eventInHash(this.hash))

  constructor() {
    this.replaceMoved()
  }

  /** A URL that the address bar does not show yet. */
  private pending: { url: URL; timer: ReturnType<typeof setTimeout> } | undefined

  /** Navigates to a path. replace drops the current history entry. */
  go(to: string, { replace = false } = {}): void {
    this.flush()
    const url = redirect(new URL(to, location.href))
    if (url.href === location.href) return
    if (replace) history.replaceState(null, '', url)
    else history.pushState(null, '', url)
    this.read(url)
  }

  /**
   * Navigates to a path in place of the current history entry. The address bar follows a moment
   * later: changing it takes milliseconds, and browsers limit how often a page may.
   */
  replaceSoon(to: string): void {
    const url = new URL(to, this.pending?.url ?? location.href)
    clearTimeout(this.pending?.timer)
    this.pending = { url, timer: setTimeout(() => this.flush(), URL_DELAY) }
    this.read(url)
  }

  private flush(): void {
    const { pending } = this
    this.pending = undefined
    clearTimeout(pending?.timer)
    if (pending && pending.url.href !== location.href) history.replaceState(null, '', pending.url)
  }

  /** Changes query parameters; empty values are removed. */
  set(changes: Record<string, string | string[]>, { replace = true } = {}): void {
    this.flush()
    const query = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      query.delete(name)
      for (const one of [value].flat()) if (one) query.append(name, one)
    }
    const text = query.toString()
    this.go(location.pathname + (text ? '?' + text : ''), { replace })
  }

  /** Handles history navigation and clicks on links. Returns a stop function. */
  listen(): () => void {
    const back = () => {
      clearTimeout(this.pending?.timer)
      this.pending = undefined
      this.replaceMoved()
    }
    const click = (e: MouseEvent) => this.click(e)
    window.addEventListener('popstate', back)
    window.addEventListener('hashchange', back)
    document.addEventListener('click', click)
    return () => {
      window.removeEventListener('popstate', back)
      window.removeEventListener('hashchange', back)
      document.removeEventListener('click', click)
    }
  }

  /** Reads the address, and corrects it if its path leads elsewhere. */
  private replaceMoved(): void {
    const url = redirect(new URL(location.href))
    if (url.href !== location.href) history.replaceState(history.state, '', url)
    this.read(url)
  }

  private read(url: URL | Location = location): void {
    this.path = url.pathname
    this.search = url.search
    this.hash = url.hash
  }

  /** Handles a click, unless it has a modifier or leads to another origin. */
  private click(e: MouseEvent): void {
    if (e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return
    const link = e.target instanceof Element ? e.target.closest('a') : null
    if (!link?.href || link.target || link.hasAttribute('download') || link.origin !== location.origin) return
    if (link.getAttribute('href')?.startsWith('#')) return
    e.preventDefault()
    this.go(link.href)
  }
}

export const router = new Router()
