import type { Kind, Risk } from '../api/types'

export type Theme = 'system' | 'light' | 'dark'
/** The order of the open requests. */
export type Order = 'urgency' | 'arrival'
export type TimeStyle = 'relative' | 'local' | 'utc'
/** Length of the undo window, seconds; 0 disables it. */
export type Undo = 0 | 2 | 5

/** The settings of this browser, stored locally and shared by its tabs. */
export interface Preferences {
  theme: Theme
  time: TimeStyle
  order: Order
  /** Whether single-key shortcuts are enabled (WCAG 2.1.4). */
  keys: boolean
  /** How a high-risk approval is confirmed: by holding the key, or by pressing it twice. */
  confirm: 'hold' | 'twice'
  /** How long an approval can be undone if its call is not known to be harmless, seconds. */
  undo: Undo
  /** Whether new requests show desktop notifications. The browser's permission is required, too. */
  notify: boolean
  notifyKinds: Kind[]
  /** The minimum risk level of notifications; low includes requests without a risk level. */
  notifyRisk: Risk
  /** Whether undelivered answers show notifications, too. */
  notifyLost: boolean
  /** Whether alerts are off between quietFrom and quietTo, local times such as "22:00". */
  quiet: boolean
  quietFrom: string
  quietTo: string
  sound: boolean
  /** 0 to 1. */
  volume: number
  /** Alerts are off until this time, Unix ms of the local clock. */
  mutedUntil: number
}

export const KINDS: readonly Kind[] = ['permission', 'question', 'choice']
export const RISKS: readonly Risk[] = ['low', 'medium', 'high', 'critical']

export function defaults(): Preferences {
  return {
    theme: 'system',
    time: 'relative',
    order: 'urgency',
    keys: true,
    confirm: 'hold',
    undo: 2,
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

const checks: { [K in keyof Preferences]: Check<Preferences[K]> } = {
  theme: oneOf('system', 'light', 'dark'),
  time: oneOf('relative', 'local', 'utc'),
  order: oneOf('urgency', 'arrival'),
  keys: isBoolean,
  confirm: oneOf('hold', 'twice'),
  undo: oneOf(0, 2, 5),
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
 * Parses preferences from untrusted JSON, such as an older version's. Missing and invalid
 * values get their defaults.
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

/** Whether the local time at is within the quiet hours. */
export function isQuiet(p: Preferences, at: Date): boolean {
  if (!p.quiet || p.quietFrom === p.quietTo) return false
  const pad = (n: number) => String(n).padStart(2, '0')
  const now = `${pad(at.getHours())}:${pad(at.getMinutes())}`
  if (p.quietFrom < p.quietTo) return now >= p.quietFrom && now < p.quietTo
  return now >= p.quietFrom || now < p.quietTo // crosses midnight
}
