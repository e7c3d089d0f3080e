import { plural } from '../../lib/format/text'

/** User-visible strings of the screen Now. */
export const text = {
  title: 'Now',
  figures: {
    needsYou: (n: number) => plural(n, 'needs you', 'need you'),
    working: 'working',
    cost: 'cost today',
  },
  lanes: 'Agents that run now',
  session: (id: string) => `Session ${id}`,
  needsYou: 'Needs you',
  openRequest: (title: string) => `Needs you: ${title}`,
  lastEvent: (name: string, ago: string) => `${name} · ${ago}`,
  strip: (events: number, waited: string) =>
    `${events} ${plural(events, 'event', 'events')} in ten minutes` +
    (waited ? `, waited ${waited} for people` : ''),
  blocked: (time: string) => `blocked ${time}`,
  blockedHint: 'How long people kept this session waiting',
  failures: (n: number) => `${n} ${plural(n, 'failure', 'failures')}`,
  more: (n: number) => `${n} more ${plural(n, 'session', 'sessions')} not shown`,
  allSessions: 'All sessions',
  ticker: 'Latest events',
  noEvents: 'No events yet.',
  loading: 'Loading …',
  failed: 'The lanes did not load',
  retry: 'Try again',
  empty: 'No agent was active in the last 30 minutes',
  emptyHint: 'Start an agent that is connected to this hub. Its lane appears here with its first event.',
  connect: 'Connect agents',
  test: 'Send a test request',
}
