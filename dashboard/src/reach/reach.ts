import type { Preferences } from '../preferences'
import { open, undelivered, type Request } from '../requests'
import type { Happening } from '../state'
import { Chime } from './chime'
import { Leader } from './leader'
import { Told } from './told'
import { plain, silent, wanted } from './worth'

/** What the desktop can be asked for. */
export interface Desktop {
  permission(): NotificationPermission
  show(title: string, options: NotificationOptions): Notification
  /** Whether the person looks at this page. */
  looking(): boolean
  now(): Date
}

const browser: Desktop = {
  permission: () => ('Notification' in window ? Notification.permission : 'denied'),
  show: (title, options) => new Notification(title, options),
  looking: () => document.hasFocus() && document.visibilityState === 'visible',
  now: () => new Date(),
}

const QUESTION = 120
const NAME = 40

/** What Reach needs of the page. */
export interface Page {
  preferences(): Preferences
  /** The hub's database, so that the same number in another one is another request. */
  hubId(): string
  request(id: number): Request | undefined
  /** Brings the request onto the screen. */
  visit(id: number): void
}

/**
 * Reaches a person who looks elsewhere: by a notification for each request, which
 * goes when the request is settled, and by a sound. Only the leading tab does,
 * and nothing is told twice.
 */
export class Reach {
  private readonly shown = new Map<number, Notification>() // request → what tells of it

  private readonly desktop: Desktop
  private readonly leader: Leader
  private readonly chime: Chime
  private readonly told: Told

  constructor(
    private readonly page: Page,
    world: { desktop?: Desktop; leader?: Leader; chime?: Chime; told?: Told } = {},
  ) {
    this.desktop = world.desktop ?? browser
    this.leader = world.leader ?? new Leader()
    this.chime = world.chime ?? new Chime()
    this.told = world.told ?? new Told()
  }

  /** Starts; returns how to stop. */
  start(): () => void {
    const stop = this.leader.start()
    const bye = () => this.closeAll()
    window.addEventListener('pagehide', bye)
    return () => {
      window.removeEventListener('pagehide', bye)
      this.closeAll()
      stop()
    }
  }

  happened({ kind, request }: Pick<Happening, 'kind' | 'request'>): void {
    const p = this.page.preferences()
    if (!this.leader.leads || silent(p, this.desktop.now())) return
    if (kind === 'asked' && wanted(p, request)) this.tell(request, 'asked')
    else if (kind === 'lost' && p.notifyLost) this.tell(request, 'lost')
  }

  /** Takes away what tells of requests that are settled by now. */
  settle(): void {
    for (const [id, notification] of this.shown) {
      const request = this.page.request(id)
      if (request && (open(request) || undelivered(request))) continue
      this.shown.delete(id)
      notification.close()
    }
  }

  /** Shows what it would look like; false when the browser does not let it. */
  test(): boolean {
    if (this.desktop.permission() !== 'granted') return false
    const text = { body: 'May I delete ./build? (This is a test.)', tag: 'req-test', icon: '/icon-192.png' }
    const notification = this.desktop.show('my-agent asks', text)
    notification.onclick = () => {
      window.focus()
      notification.close()
    }
    return true
  }

  testSound(): Promise<boolean> {
    return this.chime.play(this.page.preferences().volume)
  }

  private tell(request: Request, why: 'asked' | 'lost'): void {
    if (!this.told.claim(`${this.page.hubId()}:${why}:${request.id}`)) return
    const p = this.page.preferences()
    if (p.sound) void this.chime.play(p.volume, why)
    if (p.notify && this.desktop.permission() === 'granted' && !this.desktop.looking())
      this.notify(request, why)
  }

  private notify(request: Request, why: 'asked' | 'lost'): void {
    const { id, event, question } = request
    const name = plain(event.source_app, NAME)
    const title = why === 'asked' ? `${name} asks` : `Your answer did not reach ${name}`
    const notification = this.desktop.show(title, {
      body: plain(question.question, QUESTION),
      tag: why === 'asked' ? `req-${id}` : `lost-${id}`,
      icon: '/icon-192.png',
      silent: this.page.preferences().sound, // two sounds for one request are one too many
      requireInteraction: true,
    })
    notification.onclick = () => {
      window.focus()
      this.page.visit(id)
      notification.close()
    }
    notification.onclose = () => {
      if (this.shown.get(id) === notification) this.shown.delete(id)
    }
    this.shown.get(id)?.close()
    this.shown.set(id, notification)
  }

  private closeAll(): void {
    for (const notification of this.shown.values()) notification.close()
    this.shown.clear()
  }
}
