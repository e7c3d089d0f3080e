import { beforeEach, expect, test } from 'vitest'
import { defaults } from './preferences'
import { settings } from './settings.svelte'

const kept = () => JSON.parse(localStorage.getItem('hookback.settings') ?? 'null') as unknown

beforeEach(() => settings.reset())

test('settings are stored and applied', () => {
  settings.theme = 'dark'
  settings.time = 'utc'
  expect(kept()).toMatchObject({ theme: 'dark', time: 'utc' })
  expect(document.documentElement.dataset.theme).toBe('dark')
  settings.reset()
  expect(settings.all()).toEqual(defaults())
  expect(document.documentElement.dataset.theme).toBe('system')
})

test('holdTime is the chosen time, or 0 to confirm by a second press', () => {
  settings.hold = 1200
  expect(settings.holdTime).toBe(1200)
  settings.confirm = 'twice'
  expect(settings.holdTime).toBe(0)
})

test('settings follow another tab, even if it stored invalid values', () => {
  const stop = settings.listen(window)
  const tell = (value: string) => {
    localStorage.setItem('hookback.settings', value)
    window.dispatchEvent(new StorageEvent('storage', { key: 'hookback.settings', newValue: value }))
  }
  tell('{"theme":"dark","hold":500}')
  expect([settings.theme, settings.hold]).toEqual(['dark', 500])
  expect(document.documentElement.dataset.theme).toBe('dark')
  tell('{"theme":7,')
  expect(settings.all()).toEqual(defaults())
  stop()
  tell('{"theme":"dark"}')
  expect(settings.theme).toBe('system')
})
