import Activity from '@lucide/svelte/icons/activity'
import ChartColumn from '@lucide/svelte/icons/chart-column'
import InboxIcon from '@lucide/svelte/icons/inbox'
import Radar from '@lucide/svelte/icons/radar'
import Layers from '@lucide/svelte/icons/layers'
import Scale from '@lucide/svelte/icons/scale'
import Settings from '@lucide/svelte/icons/settings-2'
import Users from '@lucide/svelte/icons/users'
import type { Component } from 'svelte'
import type { Screen } from '../lib/page/router.svelte'
import { appText } from './text'

/**
 * The lazily loaded screens: all but the inbox.
 */
export const screens: Partial<Record<Screen, () => Promise<{ default: Component }>>> = {
  review: () => import('../features/inbox/RequestPage.svelte'),
  now: () => import('../features/now/Now.svelte'),
  stream: () => import('../features/stream/Stream.svelte'),
  overview: () => import('../features/overview/Overview.svelte'),
  settings: () => import('./Settings.svelte'),
  vote: () => import('../features/inbox/LinkVotePage.svelte'),
  team: () => import('./Team.svelte'),
  rules: () => import('../features/rules/Rules.svelte'),
  sessions: () => import('../features/sessions/Sessions.svelte'),
  session: () => import('../features/sessions/SessionPage.svelte'),
}

/** An entry of the main navigation. */
export interface Destination {
  screen: Screen
  name: string
  path: string
  /** Its shortcut in tinykeys' notation. */
  keys: string
  Icon: typeof Activity
}

export const destinations: Destination[] = [
  { screen: 'inbox', name: appText.screens.inbox, path: '/', keys: 'g i', Icon: InboxIcon },
  { screen: 'now', name: appText.screens.now, path: '/now', keys: 'g n', Icon: Radar },
  { screen: 'stream', name: appText.screens.stream, path: '/stream', keys: 'g s', Icon: Activity },
  { screen: 'sessions', name: appText.screens.sessions, path: '/sessions', keys: 'g e', Icon: Layers },
  { screen: 'overview', name: appText.screens.overview, path: '/overview', keys: 'g o', Icon: ChartColumn },
  { screen: 'rules', name: appText.screens.rules, path: '/rules', keys: 'g r', Icon: Scale },
  { screen: 'team', name: appText.screens.team, path: '/team/people', keys: 'g t', Icon: Users },
  {
    screen: 'settings',
    name: appText.screens.settings,
    path: '/settings/agents',
    keys: 'g ,',
    Icon: Settings,
  },
]

/** Loads the code of every screen in advance. A failed load is retried on first use. */
export function preload(): void {
  for (const load of Object.values(screens)) void load().catch(() => undefined)
}
