import * as api from './api'
import { ApiError } from './api'
import { isKeyChange, saveKey, onRefused, signInKey } from './signInKey'
import { hub } from './liveState.svelte'
import type { Me, Problem } from './types'

/** What the dialog about signing in shows. */
export type SignInStep =
  | { step: 'how' }
  | { step: 'going' }
  | { step: 'name'; code: string; problem?: Problem }
  | { step: 'failed'; problem: Problem }
  | { step: 'welcome' }

const CODE = /^#sign-in=([\w-]{8,200})$/
const FAILED = /^#sign-in-failed=([\w-]{1,40})$/

/** The code in a sign-in link, or what somebody copied of it; empty when there is none. */
export function signInCode(text: string): string {
  const trimmed = text.trim()
  const [, code] = CODE.exec(trimmed.slice(Math.max(0, trimmed.indexOf('#')))) ?? []
  return code ?? (/^[\w-]{8,200}$/.test(trimmed) ? trimmed : '')
}

/** Why the provider's page led to no sign-in: the hub names the reason, the words are ours. */
export function providerProblem(reason: string): Problem {
  const because: Record<string, string> = {
    refused: 'The provider did not let you in. Ask whoever runs it whether you may use this hub.',
    lost: 'That sign-in was not begun in this browser, or took longer than ten minutes. Begin again here.',
    nameless:
      'The provider gives you a name that somebody here has already. An admin can write your e-mail address down under Settings, People, so that the hub knows you.',
    'provider-down':
      'The provider can’t be reached from the hub just now. Try again in a moment, or use a sign-in link.',
  }
  const detail = because[reason] ?? 'The provider’s page led to no sign-in. Begin again here.'
  return { type: 'about:blank', title: 'Not signed in', status: 403, code: 'provider', detail, error: detail }
}

/** What a sign-in that is over is still good for. */
const signedOutUser = { verified: false, canAnswer: false, canAdmin: false }

/** Who this page is to the hub. */
class CurrentUser {
  /** As the hub last said; undefined: it has not, or knows no people. */
  identity: Me | undefined = $state.raw()
  /** This browser had signed in, and the hub does not believe it any more. */
  sessionExpired = $state(false)
  /** From here the hub tells nothing to anyone who has not signed in. */
  signInRequired = $state(false)
  /** The dialog about signing in; undefined: it is closed. */
  dialog: SignInStep | undefined = $state.raw()
  busy = $state(false)
  private probing = false

  /** Whether the hub knows a name. */
  get isVerified(): boolean {
    return this.identity?.verified ?? false
  }

  /** The person's name; empty: the hub does not know it. */
  get name(): string {
    return this.isVerified ? (this.identity?.name ?? '') : ''
  }

  /** Takes up a sign-in link, asks who one is, and follows the other tabs; returns how to stop. */
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
    if (!this.consumeLink(target.location)) void this.refresh()
    return () => {
      target.removeEventListener('hashchange', link)
      target.removeEventListener('storage', changed)
      document.removeEventListener('visibilitychange', seen)
      stop()
    }
  }

  /** Opens the dialog that says how one signs in. */
  openSignIn(): void {
    this.dialog = { step: 'how' }
  }

  close(): void {
    this.dialog = undefined
  }

  /** Signs in by a code; whoever is new gives a name. */
  async signIn(code: string, name?: string): Promise<void> {
    if (this.busy) return
    this.busy = true
    if (name === undefined) this.dialog = { step: 'going' }
    try {
      const { key, me } = await api.signIn(code, name)
      saveKey(key)
      this.setIdentity(me)
      this.dialog = me.owner && !me.locked && name !== undefined ? { step: 'welcome' } : undefined
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

  /** Signs out, or gives up a sign-in that is not good any more. Returns why it could not. */
  signOut(): Promise<Problem | undefined> {
    return this.run(async () => {
      try {
        await api.signOut()
      } catch (error) {
        if (!(error instanceof ApiError) || error.problem.code !== 'sign_in') throw error
      }
      saveKey('')
      hub.restartStream()
    })
  }

  /** Locks the hub, or opens it. Returns why it could not. */
  lock(locked: boolean): Promise<Problem | undefined> {
    return this.run(() => api.lock(locked))
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

  /** Asks the hub who this page is. */
  async refresh(): Promise<void> {
    try {
      this.setIdentity(await api.me())
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.problem.code !== 'sign_in') return // gone, or older than this page
      this.sessionExpired = true
      if (this.identity) this.identity = { ...this.identity, ...signedOutUser }
      hub.setUser('')
    }
  }

  /** The hub wanted a sign-in: is this page's over, or does it show nothing without one? */
  private async refused(reading: boolean): Promise<void> {
    await this.refresh()
    if (!reading || this.isVerified || this.signInRequired || this.probing) return
    this.probing = true
    try {
      await api.recent(1) // a cookie that is over is taken away with the first refusal
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
    // A sign-in is a cookie and a key: the one without the other is good for nothing.
    this.sessionExpired = signInKey() !== '' ? !me.verified : me.signIn !== undefined
    this.identity = this.sessionExpired ? { ...me, ...signedOutUser } : me
    if (this.isVerified) this.signInRequired = false
    hub.setUser(this.name)
  }

  /** Takes the code out of the address, where it must not stay. Returns whether there was one. */
  private consumeLink({ hash, pathname, search }: Location): boolean {
    const [, code] = CODE.exec(hash) ?? []
    const [, failed] = FAILED.exec(hash) ?? []
    if (!code && !failed) return false
    history.replaceState(history.state, '', pathname + search)
    if (code) void this.signIn(code)
    else this.dialog = { step: 'failed', problem: providerProblem(failed ?? '') }
    return code !== undefined
  }
}

export const me = new CurrentUser()
