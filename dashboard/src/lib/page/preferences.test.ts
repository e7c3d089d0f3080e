import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaults, parsePreferences } from './preferences'

describe('parsePreferences', () => {
  test('keeps valid values', () => {
    const chosen = {
      ...defaults(),
      theme: 'dark',
      time: 'utc',
      notifyKinds: ['choice'],
      mutedUntil: 5,
    }
    expect(parsePreferences(JSON.parse(JSON.stringify(chosen)))).toEqual(chosen)
  })

  test.each([
    ['theme', 'pink'],
    ['keys', 'yes'],
    ['undo', 3],
    ['notifyKinds', ['permission', 'riddle']],
    ['notifyKinds', 'permission'],
    ['mutedUntil', NaN],
    ['mutedUntil', -1],
  ])('uses the default of %s for %j', (name, value) =>
    expect(parsePreferences({ [name]: value })).toEqual(defaults()),
  )

  test('returns complete preferences for any input', () => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => void expect(Object.keys(parsePreferences(value))).toEqual(Object.keys(defaults())),
      ),
    )
    expect(parsePreferences(Object.create({ theme: 'dark' }))).toEqual(defaults())
  })

  test('ignores the settings of older versions', () =>
    expect(parsePreferences({ theme: 'light', density: 'compact', hold: 1200, volume: 1 })).toEqual({
      ...defaults(),
      theme: 'light',
    }))

  test('fills in values that an older version did not store', () =>
    expect(parsePreferences({ theme: 'light', keys: false, confirm: 'twice' })).toEqual({
      ...defaults(),
      theme: 'light',
      keys: false,
      confirm: 'twice',
    }))
})
