/** Where the page is. All of it stands in the URL, so that a link leads back to it. */
export type Place = { screen: 'inbox'; id?: number } | { screen: 'stream' } | { screen: 'nowhere' }

export function placeOf(path: string): Place {
  const request = /^\/inbox\/(\d{1,15})\/?$/.exec(path)
  if (request) return { screen: 'inbox', id: Number(request[1]) }
  if (path === '/' || path === '/inbox' || path === '/inbox/') return { screen: 'inbox' }
  if (path === '/stream' || path === '/stream/') return { screen: 'stream' }
  return { screen: 'nowhere' }
}

class Router {
  private path = $state(location.pathname)
  private search = $state(location.search)

  place = $derived(placeOf(this.path))
  query = $derived(new URLSearchParams(this.search))

  /** Goes to a path of this page. replace: the place before is not to come back to. */
  go(to: string, { replace = false } = {}): void {
    const url = new URL(to, location.href)
    if (url.href === location.href) return
    if (replace) history.replaceState(null, '', url)
    else history.pushState(null, '', url)
    this.read()
  }

  /** Changes parameters of the query; empty ones are left out. */
  set(changes: Record<string, string>, { replace = true } = {}): void {
    const query = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(changes)) {
      if (value) query.set(name, value)
      else query.delete(name)
    }
    const text = query.toString()
    this.go(location.pathname + (text ? '?' + text : ''), { replace })
  }

  /** Follows the browser's buttons and plain clicks on links; returns how to stop. */
  listen(): () => void {
    const back = () => this.read()
    const click = (e: MouseEvent) => this.click(e)
    window.addEventListener('popstate', back)
    document.addEventListener('click', click)
    return () => {
      window.removeEventListener('popstate', back)
      document.removeEventListener('click', click)
    }
  }

  private read(): void {
    this.path = location.pathname
    this.search = location.search
  }

  /** Clicks with a modifier, or on links that lead elsewhere, stay the browser's. */
  private click(e: MouseEvent): void {
    if (e.defaultPrevented || e.button !== 0 || e.ctrlKey || e.metaKey || e.shiftKey || e.altKey) return
    const link = e.target instanceof Element ? e.target.closest('a') : null
    if (!link?.href || link.target || link.origin !== location.origin) return
    if (link.getAttribute('href')?.startsWith('#')) return
    e.preventDefault()
    this.go(link.href)
  }
}

export const router = new Router()
