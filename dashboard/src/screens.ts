import Activity from '@lucide/svelte/icons/activity'
import ChartColumn from '@lucide/svelte/icons/chart-column'
import InboxIcon from '@lucide/svelte/icons/inbox'
import Layers from '@lucide/svelte/icons/layers'
import PlugZap from '@lucide/svelte/icons/plug-zap'
import Scale from '@lucide/svelte/icons/scale'
import Settings from '@lucide/svelte/icons/settings-2'
import type { Component } from 'svelte'
import type { Screen } from './router.svelte'

/**
 * The screens that come in a file of their own, once the inbox is drawn. What is
 * not listed here does not exist: no link leads to it.
 */
export const screens: Partial<Record<Screen, () => Promise<{ default: Component }>>> = {
  review: () => import('./inbox/RequestPage.svelte'),
  stream: () => import('./stream/Stream.svelte'),
  overview: () => import('./overview/Overview.svelte'),
  setup: () => import('./setup/Setup.svelte'),
  settings: () => import('./settings/Settings.svelte'),
  vote: () => import('./people/LinkVotePage.svelte'),
  people: () => import('./people/People.svelte'),
  rules: () => import('./rules/Rules.svelte'),
  notifications: () => import('./notifications/Notifications.svelte'),
  audit: () => import('./audit/AuditLog.svelte'),
  sessions: () => import('./sessions/Sessions.svelte'),
  session: () => import('./sessions/SessionPage.svelte'),
}

/** A place one can go to from everywhere. */
export interface Destination {
  screen: Screen
  name: string
  path: string
  /** The keys that lead there, in tinykeys' notation. */
  keys: string
  Icon: typeof Activity
}

const all: Destination[] = [
  { screen: 'inbox', name: 'Inbox', path: '/', keys: 'g i', Icon: InboxIcon },
  { screen: 'stream', name: 'Stream', path: '/stream', keys: 'g s', Icon: Activity },
  { screen: 'sessions', name: 'Sessions', path: '/sessions', keys: 'g e', Icon: Layers },
  { screen: 'overview', name: 'Overview', path: '/overview', keys: 'g o', Icon: ChartColumn },
  { screen: 'rules', name: 'Rules', path: '/rules', keys: 'g r', Icon: Scale },
  { screen: 'setup', name: 'Setup', path: '/setup', keys: 'g u', Icon: PlugZap },
  { screen: 'settings', name: 'Settings', path: '/settings', keys: 'g ,', Icon: Settings },
]

export const destinations = all.filter(({ screen }) => screen === 'inbox' || screens[screen])

/** Fetches every screen's file ahead of its first use; the ones that fail are tried again then. */
export function preload(): void {
  for (const load of Object.values(screens)) void load().catch(() => undefined)
}
