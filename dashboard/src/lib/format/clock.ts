/** This machine's time since a fixed moment, Unix ms. A step of its clock changes nothing, but a sleep may be left out. */
export const monotonicNow = (): number => performance.timeOrigin + performance.now()

/** Estimates the hub's clock, on which deadlines are based. */
export class Clock {
  private offset = 0

  constructor(private readonly local: () => number = monotonicNow) {}

  /** The hub's time, Unix ms. */
  now(): number {
    return this.local() + this.offset
  }

  /** Synchronizes with a timestamp just received from the hub. Unix ms. */
  sync(serverTime: number): void {
    this.offset = serverTime - this.local()
  }

  /** Corrects the clock after a sleep, with a timestamp that may have waited on its way. */
  advance(serverTime: number): void {
    this.offset = Math.max(this.offset, serverTime - this.local())
  }
}

/** How times are displayed: relative, in local time, or in UTC. */
export type TimeStyle = 'relative' | 'local' | 'utc'

let style: () => TimeStyle = () => 'relative'

/** Sets the function that returns the current time style. */
export function setTimeStyle(fn: () => TimeStyle): void {
  style = fn
}

/** A formatter for local time and UTC. Both are created lazily because that is slow. */
function zoneFormatter(options: Intl.DateTimeFormatOptions): (ms: number) => string {
  const make = (zone: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { hourCycle: 'h23', ...options, ...zone })
  let local: Intl.DateTimeFormat | undefined
  let utc: Intl.DateTimeFormat | undefined
  return (ms) => (style() === 'utc' ? (utc ??= make({ timeZone: 'UTC' })) : (local ??= make({}))).format(ms)
}

const seconds = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const

/** "12:00:00.001", in local time or UTC. */
export const timeOfDay = zoneFormatter({ ...seconds, fractionalSecondDigits: 3 })

const second = zoneFormatter(seconds)
const day = zoneFormatter({ day: 'numeric', month: 'short' })
/** "12:00". */
export const clockTime = zoneFormatter({ hour: '2-digit', minute: '2-digit' })
const dateTime = zoneFormatter({ dateStyle: 'medium', timeStyle: 'medium' })

/** Date and time, for tooltips. */
export const fullTime = (ms: number): string => dateTime(ms) + (style() === 'utc' ? ' UTC' : '')

/**
 * Formats a past time: "now", "12 s ago", "4 min ago"; or "12:00:07" and "20 Nov, 12:00",
 * depending on the time style.
 */
export function formatAgo(ms: number, now: number): string {
  if (style() !== 'relative') return day(ms) === day(now) ? second(ms) : `${day(ms)}, ${clockTime(ms)}`
  const s = Math.round((now - ms) / 1000)
  if (s < 2) return 'now'
  return formatInterval(s) + ' ago'
}

/** Formats a duration in its largest unit: "12 s", "4 min", "3 h", "2 d". */
export function formatInterval(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** "850 ms"; a duration that the clock can't resolve is "< 1 ms". */
const formatMilliseconds = (ms: number): string => (ms < 0.5 ? '< 1 ms' : `${Math.round(ms)} ms`)

/** Formats a short duration: "11 ms", "1.2 s", "14 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return formatMilliseconds(ms)
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  return formatInterval(ms / 1000)
}

/** Formats a duration in its two largest units: "850 ms", "6.2 s", "4 min 12 s", "3 d 4 h". */
export function formatLongDuration(ms: number): string {
  if (ms < 1000) return formatMilliseconds(ms)
  if (ms < 59_500) return `${Number((ms / 1000).toFixed(ms < 10_000 ? 1 : 0))} s`
  const s = Math.round(ms / 1000)
  const pair = (big: number, unit: string, small: number, lesser: string) => {
    const rest = Math.floor((s % big) / small)
    return `${Math.floor(s / big)} ${unit}${rest > 0 ? ` ${rest} ${lesser}` : ''}`
  }
  if (s < 3600) return pair(60, 'min', 1, 's')
  return s < 86_400 ? pair(3600, 'h', 60, 'min') : pair(86_400, 'd', 3600, 'h')
}

/** Formats how long a session or an agent worked, without milliseconds. */
export const formatRunTime = (ms: number): string => (ms < 1000 ? '< 1 s' : formatLongDuration(ms))

/** Formats a wait or an age in whole seconds: "1 s", "4 min 12 s". */
export const formatWait = (ms: number): string =>
  formatLongDuration(Math.max(1000, Math.floor(ms / 1000) * 1000))

/** Formats the time left: "4:48", "1:04:10", "2 d 3 h". Never negative, rounded up to seconds. */
export function formatTimeLeft(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000))
  const two = (n: number) => String(n).padStart(2, '0')
  if (s >= 86_400) return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`
  if (s >= 3600) return `${Math.floor(s / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`
  return `${Math.floor(s / 60)}:${two(s % 60)}`
}

/** The time left for screen readers: "25 seconds", "2 minutes". */
export function spokenTimeLeft(ms: number): string {
  const s = Math.max(0, Math.ceil(ms / 1000))
  const [n, unit] = s < 90 ? [s, 'second'] : [Math.round(s / 60), 'minute']
  return `${n} ${unit}${n === 1 ? '' : 's'}`
}

/** Whether the last fifth of the time, or the last 30 s, has begun. */
export function isUrgent(expiresAt: number, askedAt: number, now: number): boolean {
  const rest = expiresAt - now
  return rest <= 30_000 || rest <= (expiresAt - askedAt) / 5
}

/** The timestamp of a UUIDv7, Unix ms; undefined if uid is not a UUIDv7. */
export function uidTime(uid: string | undefined): number | undefined {
  if (!uid || uid.length !== 36 || uid[14] !== '7') return undefined
  const ms = parseInt(uid.slice(0, 8) + uid.slice(9, 13), 16)
  return Number.isNaN(ms) ? undefined : ms
}
