import { settingsTabs, teamTabs } from '../lib/page/router.svelte'
import { lazyAppText } from './lazyText'
import { appText } from './text'

/** A tab of a screen, with its address. */
export interface TabLink {
  path: string
  name: string
}

const text = lazyAppText.tabs

export const historyLinks: TabLink[] = (['sessions', 'stream', 'overview'] as const).map((tab) => ({
  path: `/${tab}`,
  name: appText.screens[tab],
}))

export const teamLinks: TabLink[] = teamTabs.map((tab) => ({ path: `/team/${tab}`, name: text.team[tab] }))

export const settingsLinks: TabLink[] = settingsTabs.map((tab) => ({
  path: `/settings/${tab}`,
  name: text.settings[tab],
}))
