// The texts of the frame around the screens: navigation, connection, shortcuts, sign-in.
export const appText = {
  find: 'Find',
  notLoaded: 'This screen did not load',
  notLoadedHint: 'The hub may be offline, or newer than this page. ',
  reload: 'Reload the page',
  freezeFailed:
    'The freeze bar did not load. If you froze agents just now, they may still run: use hookback freeze.',
  notFound: 'Page not found',
  notFoundHint: 'There is no page at this address. ',
  backToInbox: 'Back to the inbox',
  oldBrowser: 'This browser is too old. Use Chrome 123, Firefox 128, Safari 17.5, or later.',

  screens: {
    inbox: 'Inbox',
    now: 'Now',
    history: 'History',
    sessions: 'Sessions',
    stream: 'Events',
    overview: 'Reports',
    policy: 'Policy',
    team: 'Team',
    settings: 'Settings',
  },

  sidebar: {
    label: 'Main',
    home: 'Hookback, to the inbox',
    needYou: ' need you',
    more: 'More',
    signIn: 'Sign in',
    shortcuts: 'Keyboard shortcuts',
    shortcutsTitle: 'Keyboard shortcuts (?)',
    findTitle: 'Find (Ctrl K)',
    trouble: 'Agents in trouble',
    agentTitle: (name: string, state: string, ago: string) => `${name}: ${state}, last seen ${ago}`,
    moreAgents: (n: number) => `and ${n} more`,
    mutedUntil: (time: string) => `Muted until ${time}`,
    unmute: 'Unmute',
  },

  announcements: {
    title: (waiting: number) => (waiting > 0 ? `(${waiting}) Hookback` : 'Hookback'),
    timeLeft: (left: string, agent: string, question: string) =>
      `${left} left to answer ${agent}: ${question}`,
    asks: (agent: string, question: string) => `${agent} asks: ${question}`,
    newRequests: (n: number) => `${n} new requests`,
    delivered: (agent: string) => `Your answer was delivered to ${agent}`,
    undelivered: (agent: string) => `Your answer was not delivered to ${agent}`,
    notified: (agent: string) => `${agent} was notified that you canceled`,
    notNotified: (agent: string) => `${agent} was not notified that you canceled`,
    rejected: (why: string) => `Your answer was not accepted: ${why}`,
  },
}

/** Strings of IdentityBadge. */
export const badgeText = {
  account: 'Your account, under Team',
  owner: 'Owner',
  unlocked: 'Unlocked: some local programs can answer',
  signIn: 'Sign in',
  lock: 'Lock',
}
