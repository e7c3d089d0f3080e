import type { Kind, Risk } from './types'

export type Theme = 'system' | 'light' | 'dark'
export type Density = 'compact' | 'normal' | 'roomy'
export type TimeStyle = 'relative' | 'local' | 'utc'
/** Seconds. */
export type Undo = 0 | 3 | 5

/** What a person chose on this page. Kept in the browser, shared by its tabs. */
export interface Preferences {
  theme: Theme
  density: Density
  time: TimeStyle
  /** Whether single keys act (WCAG 2.1.4). */
  keys: boolean
  /** Other keys than the usual ones. :: usual keys → chosen keys */
  remap: Record<string, string>
  /** How a risky approval is given: by holding the key, or by pressing it twice. */
  confirm: 'hold' | 'twice'
  /** How long a hold lasts, ms. */
  hold: number
  /** How long a single answer can be taken back, seconds. */
  undo: Undo
  /** Whether the desktop tells of new requests; the browser has a say in it too. */
  notify: boolean
  notifyKinds: Kind[]
  /** From which risk on; low: of all. */
  notifyRisk: Risk
  /** Whether it also tells of answers that did not reach their agent. */
  notifyLost: boolean
  /** Whether nothing is shown and heard between two times of day, "22:00" and "07:00". */
  quiet: boolean
  quietFrom: string
  quietTo: string
  sound: boolean
  /** 0 to 1. */
  volume: number
  /** Nothing is shown and heard before this time, Unix ms of this machine. */
  mutedUntil: number
}

export const KINDS: readonly Kind[] = ['permission', 'question', 'choice']
export const RISKS: readonly Risk[] = ['low', 'medium', 'high', 'critical']
export const HOLD_MIN = 400
export const HOLD_MAX = 1500
const REMAPS_MAX = 100

export function defaults(): Preferences {
  return {
    theme: 'system',
    density: 'normal',
    time: 'relative',
    keys: true,
    remap: {},
    confirm: 'hold',
    hold: 700,
    undo: 0,
    notify: false,
    notifyKinds: [...KINDS],
    notifyRisk: 'low',
    notifyLost: true,
    quiet: false,
    quietFrom: '22:00',
    quietTo: '07:00',
    sound: false,
    volume: 0.6,
    mutedUntil: 0,
  }
}

type Check<T> = (value: unknown) => value is T

const isBoolean: Check<boolean> = (v): v is boolean => typeof v === 'boolean'
const oneOf =
  <T>(...of: readonly T[]): Check<T> =>
  (v): v is T =>
    of.includes(v as T)
const inRange =
  (min: number, max: number): Check<number> =>
  (v): v is number =>
    typeof v === 'number' && v >= min && v <= max
const timeOfDay: Check<string> = (v): v is string =>
  typeof v === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(v)
const subsetOf =
  <T>(of: readonly T[]): Check<T[]> =>
  (v): v is T[] =>
    Array.isArray(v) && v.length <= of.length && v.every((item) => of.includes(item as T))
const keyNames: Check<Record<string, string>> = (v): v is Record<string, string> =>
  typeof v === 'object' &&
  v !== null &&
  !Array.isArray(v) &&
  Object.keys(v).length <= REMAPS_MAX &&
  Object.values(v).every((keys) => typeof keys === 'string' && keys !== '' && keys.length <= 40)

const checks: { [K in keyof Preferences]: Check<Preferences[K]> } = {
  theme: oneOf('system', 'light', 'dark'),
  density: oneOf('compact', 'normal', 'roomy'),
  time: oneOf('relative', 'local', 'utc'),
  keys: isBoolean,
  remap: keyNames,
  confirm: oneOf('hold', 'twice'),
  hold: inRange(HOLD_MIN, HOLD_MAX),
  undo: oneOf(0, 3, 5),
  notify: isBoolean,
  notifyKinds: subsetOf(KINDS),
  notifyRisk: oneOf(...RISKS),
  notifyLost: isBoolean,
  quiet: isBoolean,
  quietFrom: timeOfDay,
  quietTo: timeOfDay,
  sound: isBoolean,
  volume: inRange(0, 1),
  mutedUntil: inRange(0, Number.MAX_SAFE_INTEGER),
}

export const preferenceNames = Object.keys(checks) as (keyof Preferences)[]

/**
 * Reads preferences from anywhere: an older page, a file a person edited, another
 * tab. What is missing or unsound is as usual.
 */
export function parsePreferences(value: unknown): Preferences {
  const out = defaults()
  if (typeof value !== 'object' || value === null) return out
  const take = <K extends keyof Preferences>(name: K) => {
    const found: unknown = Object.hasOwn(value, name) ? (value as Preferences)[name] : undefined
    if (checks[name](found)) out[name] = found
  }
  for (const name of preferenceNames) take(name)
  return out
}

/** Whether the quiet hours are on at this time of day of this machine. */
export function isQuiet(p: Preferences, at: Date): boolean {
  if (!p.quiet || p.quietFrom === p.quietTo) return false
  const two = (n: number) => String(n).padStart(2, '0')
  const now = `${two(at.getHours())}:${two(at.getMinutes())}`
  if (p.quietFrom < p.quietTo) return now >= p.quietFrom && now < p.quietTo
  return now >= p.quietFrom || now < p.quietTo // over midnight
}
