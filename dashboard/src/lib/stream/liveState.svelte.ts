import { createSubscriber } from 'svelte/reactivity'
import { setTimeStyle } from '../format/clock'
import { browser, ShortcutDispatcher } from '../keys/shortcuts'
import { snoozedUntil, type Request } from './requests'
import { saveSnoozed, settings, loadSnoozed } from '../page/settings.svelte'
import type { Topic } from './hubNotices'
import { HubState } from './hubState'

// The bridge between the plain state and Svelte: reading one of these getters subscribes
// the screen to the frame scheduler. Events never become proxies, which would be slow.

setTimeStyle(() => settings.time)

const snoozed = loadSnoozed(Date.now())
export const hub = new HubState(snoozed)

/** Snoozes a request until a time of the hub's clock; 0 ends the snooze. */
export function snooze(id: number, until: number): void {
  hub.snooze(id, until)
  saveSnoozed(snoozed)
}

export const shortcuts = new ShortcutDispatcher({ ...browser, enabled: () => settings.keys })

/** Whether a press-and-hold is in progress. */
export const holdState = $state({ active: false })
shortcuts.onHold = (active) => (holdState.active = active)

const follow = (topic: Topic) => createSubscriber((update) => hub.scheduler.on(topic, update))
const inbox = follow('inbox')
const stream = follow('stream')
const connection = follow('connection')
const agents = follow('agents')
const presence = follow('presence')
const freezes = follow('freezes')

const everySecond = createSubscriber((update) => {
  const timer = setInterval(update, 1000)
  return () => clearInterval(timer)
})

/** The reactive view of the hub state. */
export const live = {
  get lists() {
    inbox()
    return hub.lists()
  },
  /** End of the snooze of a request; in the past if it is not snoozed. */
  snoozedUntil(request: Request) {
    inbox()
    return snoozedUntil(request, snoozed)
  },
  get listed() {
    inbox()
    return hub.listed
  },
  get loaded() {
    inbox()
    return hub.loaded
  },
  request(id: number) {
    inbox()
    return hub.request(id)
  },
  get events() {
    stream()
    return hub.events
  },
  /** A dependency that changes with every batch of events. */
  get eventCount() {
    stream()
    return hub.events.end
  },
  /** A dependency that changes with the ratings of tool calls. */
  get ratingChanges() {
    stream()
    return hub.ratingChanges
  },
  get connection() {
    connection()
    return hub.connection
  },
  get version() {
    connection()
    return hub.version
  },
  /** Whether the hub serves a newer version of the dashboard. */
  get outdated() {
    connection()
    return hub.outdated
  },
  /** Age of the newest event on arrival, ms. */
  get lag() {
    connection()
    return hub.lag
  },
  get presence() {
    presence()
    return hub.presence
  },
  /** The open alerts, the newest first. */
  get alerts() {
    freezes()
    return hub.alerts
  },
  /** The rules that allow the harmless calls of a session; some may have expired. */
  get allowances() {
    freezes()
    return hub.allowances
  },
  /** The active freezes, oldest first. */
  get freezes() {
    freezes()
    return hub.freezes
  },
  get agents() {
    agents()
    return hub.agents.all()
  },
  /** The hub's time, updated every second. */
  get now() {
    everySecond()
    return hub.clock.now()
  },
}
