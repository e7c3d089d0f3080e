import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { defaults, isQuiet, parsePreferences } from './preferences'

describe('parsePreferences', () => {
  test('keeps valid values', () => {
    const chosen = {
      ...defaults(),
      theme: 'dark',
      time: 'utc',
      notifyKinds: ['choice'],
      quietFrom: '23:59',
      volume: 0,
    }
    expect(parsePreferences(JSON.parse(JSON.stringify(chosen)))).toEqual(chosen)
  })

  test.each([
    ['theme', 'pink'],
    ['keys', 'yes'],
    ['volume', NaN],
    ['undo', 3],
    ['notifyKinds', ['permission', 'riddle']],
    ['notifyKinds', 'permission'],
    ['quietFrom', '24:00'],
    ['quietTo', '7:00'],
    ['volume', 1.1],
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
    expect(parsePreferences({ theme: 'light', density: 'compact', hold: 1200, remap: { a: 'y' } })).toEqual({
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

describe('isQuiet', () => {
  const at = (h: number, m = 0) => new Date(2026, 10, 21, h, m)
  const night = { ...defaults(), quiet: true, quietFrom: '22:00', quietTo: '07:00' }
  test.each([
    [21, 59, false],
    [22, 0, true],
    [0, 0, true],
    [6, 59, true],
    [7, 0, false],
  ])('crosses midnight: %i:%i', (h, m, quiet) => expect(isQuiet(night, at(h, m))).toBe(quiet))
  test('supports ranges within a day', () => {
    const noon = { ...night, quietFrom: '12:00', quietTo: '13:30' }
    expect([11, 12, 13, 14].map((h) => isQuiet(noon, at(h)))).toEqual([false, true, true, false])
  })
  test('is false if disabled or if both times are equal', () => {
    expect(isQuiet({ ...night, quiet: false }, at(23))).toBe(false)
    expect(isQuiet({ ...night, quietTo: '22:00' }, at(23))).toBe(false)
  })
})
