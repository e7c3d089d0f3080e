import HistoryIcon from '@lucide/svelte/icons/history'
import InboxIcon from '@lucide/svelte/icons/inbox'
import Radar from '@lucide/svelte/icons/radar'
import Scale from '@lucide/svelte/icons/scale'
import Settings from '@lucide/svelte/icons/settings-2'
import Users from '@lucide/svelte/icons/users'
import type { Component } from 'svelte'
import { router, type Screen } from '../lib/page/router.svelte'
import { appText } from './text'

type Screens = Partial<Record<Screen, () => Promise<{ default: Component }>>>

/** The tabs of History. */
export const historyTabs: Screens = {
  sessions: () => import('../features/sessions/Sessions.svelte'),
  stream: () => import('../features/stream/Stream.svelte'),
  overview: () => import('../features/overview/Overview.svelte'),
}
/** One function for all tabs, so that a change of tab keeps the screen around it. */
const history = () => {
  historyTabs[router.place.screen]?.().catch(() => undefined) // starts both loads at once
  return import('./History.svelte')
}

/** The lanes of the agents, which the empty inbox shows, too. */
export const lanes = () => import('../features/now/Now.svelte')

/**
 * The lazily loaded screens: all but the inbox.
 */
export const screens: Screens = {
  review: () => import('../features/inbox/RequestPage.svelte'),
  now: lanes,
  stream: history,
  overview: history,
  settings: () => import('./Settings.svelte'),
  vote: () => import('../features/inbox/LinkVotePage.svelte'),
  team: () => import('./Team.svelte'),
  policy: () => import('../features/policy/Rules.svelte'),
  sessions: history,
  docs: () => import('../features/docs/Docs.svelte'),
  session: () => import('../features/sessions/SessionPage.svelte'),
}

/** A screen that an address and a shortcut open. */
export interface Destination {
  screen: Screen
  name: string
  /** Other words for it, for the palette. */
  synonyms?: string
  path: string
  /** Its shortcut in the notation of bindings. */
  keys: string
  /** In the main navigation. Others are tabs of an entry there. */
  Icon?: typeof Scale
}

export const destinations: Destination[] = [
  { screen: 'inbox', name: appText.screens.inbox, path: '/', keys: 'g i', Icon: InboxIcon },
  { screen: 'now', name: appText.screens.now, path: '/now', keys: 'g n', Icon: Radar },
  {
    screen: 'sessions',
    name: appText.screens.sessions,
    synonyms: appText.screens.history,
    path: '/sessions',
    keys: 'g e',
    Icon: HistoryIcon,
  },
  { screen: 'stream', name: appText.screens.stream, synonyms: 'stream log', path: '/stream', keys: 'g s' },
  {
    screen: 'overview',
    name: appText.screens.overview,
    synonyms: 'overview statistics cost',
    path: '/overview',
    keys: 'g o',
  },
  {
    screen: 'policy',
    name: appText.screens.policy,
    synonyms: 'rules replay allow deny',
    path: '/policy',
    keys: 'g p',
    Icon: Scale,
  },
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
  for (const load of [...Object.values(screens), ...Object.values(historyTabs)])
    void load().catch(() => undefined)
}
