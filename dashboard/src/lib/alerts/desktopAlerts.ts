import type { Preferences } from '../page/preferences'
import { isDecidable, hasDeliveryFailure, requestTitle, type Request } from '../stream/requests'
import type { Announcement } from '../stream/hubState'
import { Chime } from './sound'
import { TabLeader } from './tabLeader'
import { SeenAlerts } from './alertDedup'
import { plainLine, shouldAlert } from './alertFilter'
import { text } from './text'

/** The browser features that desktop alerts use. Tests replace them. */
export interface DesktopEnvironment {
  permission(): NotificationPermission
  show(title: string, options: NotificationOptions): Notification
  /** Reports whether this tab is visible and focused. */
  isFocused(): boolean
  /** Unix ms. */
  now(): number
}

const browser: DesktopEnvironment = {
  permission: () => ('Notification' in window ? Notification.permission : 'denied'),
  show: (title, options) => new Notification(title, options),
  isFocused: () => document.hasFocus() && document.visibilityState === 'visible',
  now: Date.now,
}

const MAX_QUESTION = 120
const MAX_NAME = 40

/** The dashboard functions that desktop alerts use. */
export interface AlertContext {
  preferences(): Preferences
  /** The id of the hub's database: request ids are unique only within one. */
  hubId(): string
  request(id: number): Request | undefined
  /** Opens the request. */
  visit(id: number): void
}

/**
 * Alerts a user who is looking elsewhere, with a sound and one notification per request.
 * The notification closes when the request is settled. Only the leading tab alerts, and
 * each alert is shown once.
 */
export class DesktopAlerts {
  private readonly notifications = new Map<number, Notification>() // by request id

  private readonly desktop: DesktopEnvironment
  private readonly leader: TabLeader
  private readonly chime: Chime
  private readonly seenAlerts: SeenAlerts

  constructor(
    private readonly context: AlertContext,
    overrides: {
      desktop?: DesktopEnvironment
      leader?: TabLeader
      chime?: Chime
      seenAlerts?: SeenAlerts
    } = {},
  ) {
    this.desktop = overrides.desktop ?? browser
    this.leader = overrides.leader ?? new TabLeader()
    this.chime = overrides.chime ?? new Chime()
    this.seenAlerts = overrides.seenAlerts ?? new SeenAlerts()
  }

  /** Starts alerting. Returns a function that stops it and closes all notifications. */
  start(): () => void {
    const stop = this.leader.start()
    const onPageHide = () => this.closeAll()
    window.addEventListener('pagehide', onPageHide)
    return () => {
      window.removeEventListener('pagehide', onPageHide)
      this.closeAll()
      stop()
    }
  }

  /** Alerts the user of a new request or of an answer that was not delivered. */
  handle({ kind, request }: Pick<Announcement, 'kind' | 'request'>): void {
    const p = this.context.preferences()
    if (request.status.test || !this.leader.isLeader || this.desktop.now() < p.mutedUntil) return
    if (kind === 'asked' && shouldAlert(p, request)) this.alert(request, 'asked')
    else if (kind === 'lost' && p.notifyLost) this.alert(request, 'lost')
  }

  /** Closes the notifications of settled requests. */
  closeSettled(): void {
    for (const [id, notification] of this.notifications) {
      const request = this.context.request(id)
      if (request && (isDecidable(request) || hasDeliveryFailure(request))) continue
      this.notifications.delete(id)
      notification.close()
    }
  }

  /** Shows a sample notification. Returns false if the browser does not permit it. */
  showTest(): boolean {
    if (this.desktop.permission() !== 'granted') return false
    const options = { body: text.testBody, tag: 'req-test', icon: '/icon-192.png' }
    const notification = this.desktop.show(text.testTitle, options)
    notification.onclick = () => {
      window.focus()
      notification.close()
    }
    return true
  }

  playTest(): Promise<boolean> {
    return this.chime.play()
  }

  private alert(request: Request, why: 'asked' | 'lost'): void {
    if (!this.seenAlerts.markSeen(`${this.context.hubId()}:${why}:${request.id}`)) return
    const p = this.context.preferences()
    if (p.sound) void this.chime.play(why)
    if (p.notify && this.desktop.permission() === 'granted' && !this.desktop.isFocused())
      this.show(request, why)
  }

  private show(request: Request, why: 'asked' | 'lost'): void {
    const { id, event, question } = request
    const name = plainLine(event.source_app, MAX_NAME)
    const title = why === 'asked' ? text.asks(name) : text.notDelivered(name)
    const notification = this.desktop.show(title, {
      body: plainLine(request.status.intent ? requestTitle(request) : question.question, MAX_QUESTION),
      tag: why === 'asked' ? `req-${id}` : `lost-${id}`,
      icon: '/icon-192.png',
      silent: this.context.preferences().sound, // the chime is the only sound
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
