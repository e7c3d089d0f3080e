import type { Preferences } from '../preferences'
import { isDecidable, hasDeliveryFailure, type Request } from '../requests'
import type { Announcement } from '../hubState'
import { Chime } from './sound'
import { TabLeader } from './tabLeader'
import { SeenAlerts } from './alertDedup'
import { plainLine, isMuted, shouldAlert } from './alertFilter'

/** What the desktop can be asked for. */
export interface DesktopEnvironment {
  permission(): NotificationPermission
  show(title: string, options: NotificationOptions): Notification
  /** Whether the person looks at this page. */
  isFocused(): boolean
  now(): Date
}

const browser: DesktopEnvironment = {
  permission: () => ('Notification' in window ? Notification.permission : 'denied'),
  show: (title, options) => new Notification(title, options),
  isFocused: () => document.hasFocus() && document.visibilityState === 'visible',
  now: () => new Date(),
}

const QUESTION = 120
const NAME = 40

/** What Reach needs of the page. */
export interface AlertContext {
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
export class DesktopAlerts {
  private readonly notifications = new Map<number, Notification>() // request → what tells of it

  private readonly desktop: DesktopEnvironment
  private readonly leader: TabLeader
  private readonly chime: Chime
  private readonly seenAlerts: SeenAlerts

  constructor(
    private readonly context: AlertContext,
    world: { desktop?: DesktopEnvironment; leader?: TabLeader; chime?: Chime; seenAlerts?: SeenAlerts } = {},
  ) {
    this.desktop = world.desktop ?? browser
    this.leader = world.leader ?? new TabLeader()
    this.chime = world.chime ?? new Chime()
    this.seenAlerts = world.seenAlerts ?? new SeenAlerts()
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

  handle({ kind, request }: Pick<Announcement, 'kind' | 'request'>): void {
    const p = this.context.preferences()
    if (!this.leader.isLeader || isMuted(p, this.desktop.now())) return
    if (kind === 'asked' && shouldAlert(p, request)) this.alert(request, 'asked')
    else if (kind === 'lost' && p.notifyLost) this.alert(request, 'lost')
  }

  /** Takes away what tells of requests that are settled by now. */
  closeSettled(): void {
    for (const [id, notification] of this.notifications) {
      const request = this.context.request(id)
      if (request && (isDecidable(request) || hasDeliveryFailure(request))) continue
      this.notifications.delete(id)
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

  playTest(): Promise<boolean> {
    return this.chime.play(this.context.preferences().volume)
  }

  private alert(request: Request, why: 'asked' | 'lost'): void {
    if (!this.seenAlerts.markSeen(`${this.context.hubId()}:${why}:${request.id}`)) return
    const p = this.context.preferences()
    if (p.sound) void this.chime.play(p.volume, why)
    if (p.notify && this.desktop.permission() === 'granted' && !this.desktop.isFocused())
      this.notify(request, why)
  }

  private notify(request: Request, why: 'asked' | 'lost'): void {
    const { id, event, question } = request
    const name = plainLine(event.source_app, NAME)
    const title = why === 'asked' ? `${name} asks` : `Your answer did not reach ${name}`
    const notification = this.desktop.show(title, {
      body: plainLine(question.question, QUESTION),
      tag: why === 'asked' ? `req-${id}` : `lost-${id}`,
      icon: '/icon-192.png',
      silent: this.context.preferences().sound, // two sounds for one request are one too many
      requireInteraction: true,
    })
    notification.onclick = () => {
      window.focus()
      this.context.visit(id)
      notification.close()
    }
    notification.onclose = () => {
      if (this.notifications.get(id) === notification) this.notifications.delete(id)
    }
    this.notifications.get(id)?.close()
    this.notifications.set(id, notification)
  }

  private closeAll(): void {
    for (const notification of this.notifications.values()) notification.close()
    this.notifications.clear()
  }
}
