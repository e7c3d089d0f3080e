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
  sound: boolean
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
    sound: false,
    mutedUntil: 0,
  }
}
