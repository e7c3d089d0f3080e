// Strings of components outside the first load.
import type { SettingsTab, TeamTab } from '../lib/page/router.svelte'

export const lazyAppText = {
  tabs: {
    team: {
      people: 'People',
      notifications: 'Notifications',
      tokens: 'Tokens',
      audit: 'Audit log',
    } satisfies Record<TeamTab, string>,
    settings: {
      agents: 'Agents',
      appearance: 'Appearance',
      approvals: 'Approvals',
      keyboard: 'Keyboard',
      browser: 'Browser',
      hub: 'Hub',
    } satisfies Record<SettingsTab, string>,
  },

  palette: {
    groups: {
      requests: 'Requests',
      here: 'Here',
      goTo: 'Go to',
      events: 'Events',
      agents: 'Agents',
      sessions: 'Sessions',
      actions: 'Actions',
    },
    label: 'Find a screen, an agent, a session, a request or an action',
    placeholder: 'Find anything, or #123 for an event',
    results: 'Results',
    none: 'No results.',
    copyLink: 'Copy the link to this page',
    exportSession: (format: string) => `Export this session as ${format}`,
    theme: (name: string) => `Theme: ${name}`,
    density: (name: string) => `Density: ${name}`,
    muteHint: 'notifications and sound',
    mute15: 'Mute for 15 minutes',
    mute60: 'Mute for an hour',
    freeze: 'Freeze all agents',
    freezeHint: 'stops them at their next tool call',
    docs: 'Documentation',
    showShortcuts: 'Show the shortcuts of this screen',
    help: 'help',
    request: (id: number) => `Request ${id}`,
    undelivered: (agent: string) => `${agent} · not delivered`,
    requestHint: (agent: string, id: number) => `${agent} · #${id}`,
    eventById: (id: string) => `Event #${id}`,
    inStream: 'in the stream',
    requestById: (id: string) => `Request #${id}`,
    inInbox: 'in the inbox',
  },

  shortcutSheet: {
    title: 'Keyboard shortcuts',
    off: 'Single-key shortcuts are turned off in the settings.',
    find: 'Find a shortcut',
    onThisScreen: 'On this screen',
    everywhere: 'Everywhere',
    elsewhere: (screen: string) => `Elsewhere in ${screen}`,
    none: 'No matching shortcut.',
    hint: 'When the request on screen changes by itself, approval keys pause for 0.5 s, so you don’t answer the wrong one by accident. To change or disable shortcuts, see the ',
    settings: 'settings',
  },
}
