import { ApiError, get, post } from './api'
import { isKeyChange, saveKey, onRefused, signInKey } from './signInKey'
import { hub } from '../stream/liveState.svelte'
import type { Me, Problem } from './types'

/** The step of the sign-in dialog. */
export type SignInStep =
  | { step: 'how' }
  | { step: 'going' }
  | { step: 'name'; code: string; problem?: Problem }
  | { step: 'failed'; problem: Problem }
  | { step: 'welcome' }
  /** The pairing code of this device, as scanned; empty once it is paired. */
  | { step: 'pair'; code: string }

/** A link of hookback up also has the name of the first person. */
const CODE = /^#sign-in=([\w-]{8,200})(?:&name=([\w%.~-]+))?$/
const PAIR = /^#pair=(.*)/
const FAILED = /^#sign-in-failed=([\w-]{1,40})$/

/** The code in a sign-in link or a part of it; empty if there is none. */
export function signInCode(text: string): string {
  const trimmed = text.trim()
  const [, code] = CODE.exec(trimmed.slice(Math.max(0, trimmed.indexOf('#')))) ?? []
  return code ?? (/^[\w-]{8,200}$/.test(trimmed) ? trimmed : '')
}

/** The name in a link; undefined if its escapes are invalid. */
function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/**
 * The problem for a failed sign-in at the OpenID provider. reason: the code of the hub, which
 * signInError explains.
 */
export const providerProblem = (reason: string): Problem => ({
  type: 'about:blank',
  title: '',
  status: 403,
  code: 'provider',
  detail: reason,
  error: reason,
})

/** The permissions of an ended sign-in. */
const signedOutUser = { verified: false, canAnswer: false, canAdmin: false }

/** The identity of the user, and the sign-in dialog. */
class CurrentUser {
  /** The identity as the hub last reported it; undefined before that, or on a hub without people. */
  identity: Me | undefined = $state.raw()
  /** The sign-in of this browser is no longer valid. */
  sessionExpired = $state(false)
  /** The hub requires a sign-in even to read. */
  signInRequired = $state(false)
  /** The sign-in dialog; undefined while closed. */
  dialog: SignInStep | undefined = $state.raw()
  busy = $state(false)
  /** The user has just become the owner of the hub. */
  claimed = $state(false)
  private probing = false

  /** Whether the hub has verified the name of the user. */
  get isVerified(): boolean {
    return this.identity?.verified ?? false
  }

  /** Whether the user can do what takes a known person. True on a hub without people. */
  get isKnown(): boolean {
    return this.identity?.verified ?? true
  }

  /** Whether the user must sign in to answer: the hub is locked and shows its requests. */
  get mustSignIn(): boolean {
    return this.identity?.locked === true && !this.isVerified
  }

  /**
   * Whether every screen shows a banner: an owned hub is open, a locked one asks to sign in, or
   * accounts changed recently.
   */
  get hasNotices(): boolean {
    const { owned = false, locked, changes = [] } = this.identity ?? {}
    const signIn = this.mustSignIn && !this.sessionExpired
    return !this.signInRequired && (this.claimed || (owned && !locked) || signIn || changes.length > 0)
  }

  /** The verified name; empty if there is none. */
  get name(): string {
    return this.isVerified ? (this.identity?.name ?? '') : ''
  }

  /** Redeems a sign-in link, loads the identity, and follows the other tabs. Returns a stop function. */
  start(target: Window): () => void {
    const link = () => void this.consumeLink(target.location)
    const changed = (e: StorageEvent) => {
      if (isKeyChange(e)) void this.changed()
    }
    const seen = () => {
      if (!document.hidden) void this.refresh()
    }
    target.addEventListener('hashchange', link)
    target.addEventListener('storage', changed)
    document.addEventListener('visibilitychange', seen)
    const stop = onRefused((reading) => void this.refused(reading))
    hub.signedOut = () => void this.refresh()
    hub.notOpened = () => void this.refused(true)
    if (!this.consumeLink(target.location)) void this.refresh()
    return () => {
      target.removeEventListener('hashchange', link)
      target.removeEventListener('storage', changed)
      document.removeEventListener('visibilitychange', seen)
      stop()
    }
  }

  /** Opens the sign-in dialog. */
  openSignIn(): void {
    this.dialog = { step: 'how' }
  }

  close(): void {
    this.dialog = undefined
  }

  /** Signs in with a code; a new person provides a name. */
  async signIn(code: string, name?: string): Promise<void> {
    if (this.busy) return
    this.busy = true
    if (name === undefined) this.dialog = { step: 'going' }
    try {
      const { key, me } = await post('/api/sign-in', { code, name })
      saveKey(key)
      this.setIdentity(me)
      const claimed = !!me.owner && name !== undefined
      this.claimed = claimed && me.locked
      this.dialog = claimed && !me.locked ? { step: 'welcome' } : undefined
      hub.restartStream()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const { problem } = error
      const first = name === undefined
      if (problem.field === 'name') this.dialog = { step: 'name', code, problem: first ? undefined : problem }
      else this.dialog = { step: 'failed', problem }
      if (!this.identity) void this.refresh()
    } finally {
      this.busy = false
    }
  }

  /** Signs out, or discards an ended sign-in. Returns the problem if that failed. */
  signOut(): Promise<Problem | undefined> {
    return this.run(async () => {
      try {
        await post('/api/sign-out')
      } catch (error) {
        if (!(error instanceof ApiError) || error.problem.code !== 'sign_in') throw error
      }
      saveKey('')
      hub.restartStream()
    })
  }

  /** Locks or unlocks the hub. Returns the problem if that failed. */
  lock(locked: boolean): Promise<Problem | undefined> {
    return this.run(() => post('/api/lock', { locked }))
  }

  private async run(send: () => Promise<unknown>): Promise<Problem | undefined> {
    if (this.busy) return undefined
    this.busy = true
    try {
      await send()
      await this.refresh()
      return undefined
    } catch (error) {
      if (error instanceof ApiError) return error.problem
      throw error
    } finally {
      this.busy = false
    }
  }

  /** Reloads the identity. */
  async refresh(): Promise<void> {
    const key = signInKey()
    try {
      const me = await get('/api/me')
      if (key === signInKey()) this.setIdentity(me) // otherwise it describes the time before a sign-in
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (key !== signInKey()) return
      if (error.problem.code !== 'sign_in') return // offline, or an older hub
      this.sessionExpired = true
      if (this.identity) this.identity = { ...this.identity, ...signedOutUser }
      hub.setUser('')
    }
  }

  /** The hub required a sign-in: either this one ended, or reading requires one. */
  private async refused(reading: boolean): Promise<void> {
    await this.refresh()
    if (!reading || this.isVerified || this.signInRequired || this.probing) return
    this.probing = true
    try {
      await get('/events/recent', { limit: 1, summary: 1 }) // the first refusal clears an expired cookie, so ask again
    } catch (error) {
      this.signInRequired = error instanceof ApiError && error.problem.code === 'sign_in'
    } finally {
      this.probing = false
    }
  }

  /** Another tab signed in or out. */
  private async changed(): Promise<void> {
    await this.refresh()
    if (this.isVerified) this.dialog = undefined
    hub.restartStream()
  }

  private setIdentity(me: Me): void {
    // A sign-in consists of a cookie and a key; one without the other is invalid.
    this.sessionExpired = signInKey() !== '' ? !me.verified : me.signIn !== undefined
    this.identity = this.sessionExpired ? { ...me, ...signedOutUser } : me
    if (this.isVerified) this.signInRequired = false
    hub.setUser(this.name)
  }

  /** Removes the code from the URL, so it does not leak, and redeems it. Returns whether there was one. */
  private consumeLink({ hash, pathname, search }: Location): boolean {
    const [, code, name] = CODE.exec(hash) ?? []
    const [, failed] = FAILED.exec(hash) ?? []
    const pair = PAIR.exec(hash)?.[1]
    if (!code && !failed && !pair) return false
    history.replaceState(history.state, '', pathname + search)
    if (pair) this.dialog = { step: 'pair', code: pair }
    else if (code) void this.signIn(code, name && decodeName(name))
    else this.dialog = { step: 'failed', problem: providerProblem(failed ?? '') }
    return code !== undefined
  }
}

export const me = new CurrentUser()
