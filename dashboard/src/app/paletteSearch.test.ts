import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { me } from '../lib/api/currentUser.svelte'
import { actionItems } from './paletteActions'
import { findItems, personItems, settingItems, tabItems, type PaletteItem } from './paletteItems'
import { destinations } from './screens'
import { settingsLinks, teamLinks } from './tabs'

const admin = { name: 'ada', role: 'admin', verified: true, canAnswer: true, canAdmin: true, locked: false }
const go = vi.fn()

/** The entries of the palette except live ones: requests, agents, sessions. */
const items = (): PaletteItem[] => [
  ...destinations.map(({ name, synonyms, path }) => ({
    group: 'Go to' as const,
    text: name,
    synonyms,
    run: () => go(path),
  })),
  ...tabItems(teamLinks, 'Team', go),
  ...tabItems(settingsLinks, 'Settings', go),
  ...actionItems([], () => undefined),
  ...settingItems(go),
  ...personItems([{ name: 'grace', role: 'operator', createdAt: 1 }], go),
]
const first = (query: string) => {
  const item = findItems(items(), query)[0]
  return item && (item.hint ? `${item.text} · ${item.hint}` : item.text)
}

beforeEach(() => void (me.identity = admin))
afterEach(() => void (me.identity = undefined))

describe('Palette', () => {
  test.each([
    ['invite', 'Invite a person'],
    ['add user', 'Invite a person'],
    ['people', 'People · Team'],
    ['coverage', 'Coverage · Team'],
    ['preferences', 'Preferences · Settings'],
    ['tokens', 'Tokens · Team'],
    ['new token', 'Create a token'],
    ['audit', 'Audit · Team'],
    ['team', 'Team'],
    ['settings', 'Settings'],
    ['inbox', 'Inbox'],
    ['stream', 'Events'],
    ['sessions', 'Sessions'],
    ['overview', 'Reports'],
    ['history', 'Sessions'],
    ['events', 'Events'],
    ['cost', 'Reports'],
    ['rules', 'Policy'],
    ['policy', 'Policy'],
    ['always allow', 'New rule'],
    ['new rule', 'New rule'],
    ['theme', 'Theme · Preferences'],
    ['theme dark', 'Use the dark theme'],
    ['pair phone', 'Pair a phone'],
    ['qr code', 'Pair a phone'],
    ['lock', 'Lock the hub'],
    ['sign out', 'Sign out'],
    ['logout', 'Sign out'],
    ['setup', 'Connect your agents'],
    ['claude', 'Connect your agents'],
    ['telegram', 'Add a notification channel'],
    ['passkey', 'Add a passkey'],
    ['new alert', 'New alert'],
    ['stuck', 'New alert'],
    ['shortcuts', 'Show the shortcuts of this screen · help'],
    ['hotkeys', 'Single-key shortcuts · Preferences'],
    ['undo', 'Time to undo an approval · Preferences'],
    ['quiet hours', 'Quiet hours · Preferences'],
    ['public address', 'Public address · Hub'],
    ['spending', 'Automatic freezes · Hub'],
    ['mute hour', 'Mute for an hour · notifications and sound'],
    ['freeze', 'Freeze all agents · stops them at their next tool call'],
    ['docs', 'Documentation · help'],
    ['documentation', 'Documentation · help'],
    ['share', undefined],
    ['grace', 'grace · Operator'],
  ])('finds %j: %s', (query, expected) => expect(first(query)).toBe(expected))

  test('offers the lock as a screen to people who may not change it', () => {
    me.identity = { ...admin, verified: false, canAdmin: false }
    expect(first('lock')).toBe('Lock the hub')
    expect(first('sign in')).toBe('Sign in')
    me.identity = { ...admin, locked: true }
    expect(first('unlock')).toBe('Unlock the hub')
  })

  test('leads every tab and setting to an address', () => {
    go.mockClear()
    const targets = [...tabItems(teamLinks, 'Team', go), ...settingItems(go)]
    for (const item of targets) item.run()
    expect(go.mock.calls.flat().every((path) => /^\/(team|settings)\/[a-z]+$/.test(String(path)))).toBe(true)
  })
})
