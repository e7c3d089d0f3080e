import { createSubscriber } from 'svelte/reactivity'
import { setTimeStyle } from './clock'
import { ShortcutDispatcher } from './shortcuts'
import { snoozedUntil, type Request } from './requests'
import { saveSnoozed, settings, loadSnoozed } from './settings.svelte'
import { HubState, type Topic } from './hubState'

// The bridge between plain state and screens: a screen that reads one of these is
// drawn again when the painter says that it changed. No event ever becomes a proxy.

setTimeStyle(() => settings.time)

const snoozed = loadSnoozed(Date.now())
export const hub = new HubState(snoozed)

/** Puts a request aside until a time of the hub's clock; 0 takes it back out. */
export function snooze(id: number, until: number): void {
  hub.snooze(id, until)
  saveSnoozed(snoozed)
}

export const shortcuts = new ShortcutDispatcher({
  now: () => performance.now(),
  hasFocus: () => document.hasFocus(),
  enabled: () => settings.keys,
  remapped: (usual) => settings.remap[usual] ?? usual,
})

/** Whether a key or button that must be held is being held. */
export const holdState = $state({ going: false })
shortcuts.onHold = (going) => (holdState.going = going)

const follow = (topic: Topic) => createSubscriber((update) => hub.scheduler.on(topic, update))
const inbox = follow('inbox')
const stream = follow('stream')
const connection = follow('connection')
const agents = follow('agents')
const presence = follow('presence')

const everySecond = createSubscriber((update) => {
  const timer = setInterval(update, 1000)
  return () => clearInterval(timer)
})

/** What the screens read, always as it is now. */
export const live = {
  get lists() {
    inbox()
    return hub.lists()
  },
  /** Until when a request is put aside; not in the future: it is not. */
  asideUntil(request: Request) {
    inbox()
    return snoozedUntil(request, snoozed)
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
  /** Something to depend on that changes with every batch of events. */
  get eventCount() {
    stream()
    return hub.events.end
  },
  get connection() {
    connection()
    return hub.connection
  },
  get version() {
    connection()
    return hub.version
  },
  /** Whether the hub serves a newer page than this one. */
  get outdated() {
    connection()
    return hub.outdated
  },
  /** How late events are, ms. */
  get lag() {
    connection()
    return hub.lag
  },
  get presence() {
    presence()
    return hub.presence
  },
  get agents() {
    agents()
    return hub.agents.all()
  },
  /** The hub's time, renewed every second. */
  get now() {
    everySecond()
    return hub.clock.now()
  },
}
