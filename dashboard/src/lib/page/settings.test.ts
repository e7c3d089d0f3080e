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

test('settings follow another tab, and have defaults for what it did not store', () => {
  const stop = settings.listen(window)
  const tell = (value: string) => {
    localStorage.setItem('hookback.settings', value)
    window.dispatchEvent(new StorageEvent('storage', { key: 'hookback.settings', newValue: value }))
  }
  tell('{"theme":"dark","sound":true}')
  expect(settings.all()).toEqual({ ...defaults(), theme: 'dark', sound: true })
  expect(document.documentElement.dataset.theme).toBe('dark')
  tell('{"theme":7,')
  expect(settings.all()).toEqual(defaults())
  stop()
  tell('{"theme":"dark"}')
  expect(settings.theme).toBe('system')
})
