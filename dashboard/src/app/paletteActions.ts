import type { Binding } from '../lib/keys/shortcuts'
import { me } from '../lib/api/currentUser.svelte'
import type { Theme } from '../lib/page/preferences'
import { router } from '../lib/page/router.svelte'
import { settings } from '../lib/page/settings.svelte'
import type { PaletteItem } from './paletteItems'
import { lazyAppText } from './lazyText'
import { appText } from './text'

const copy = lazyAppText.palette
const MINUTE = 60_000

const act = (text: string, run: () => void, hint?: string, synonyms?: string): PaletteItem => ({
  group: copy.groups.actions,
  text,
  run,
  hint,
  synonyms,
})
const openAction = (text: string, path: string, synonyms?: string) =>
  act(text, () => router.go(path), undefined, synonyms)

/** Actions of the team that need a screen. */
export function teamActions(): PaletteItem[] {
  return [
    openAction(copy.newRule, '/policy?new=1', copy.synonyms.newRule),
    openAction(copy.testRequest, '/?test=1'),
    openAction(copy.connectAgents, '/settings/agents', copy.synonyms.connectAgents),
    openAction(copy.invite, '/team/people?new=person', copy.synonyms.invite),
    ...(me.identity?.paired
      ? []
      : [openAction(copy.pairPhone, '/settings/hub?new=phone', copy.synonyms.pairPhone)]),
    openAction(copy.newToken, '/team/tokens?new=token', copy.synonyms.newToken),
    openAction(copy.newChannel, '/settings/hub?new=channel', copy.synonyms.newChannel),
    openAction(copy.newAlert, '/settings/hub?new=alert', copy.synonyms.newAlert),
    openAction(copy.addPasskey, '/team/people?new=passkey', copy.synonyms.addPasskey),
  ]
}

/** Signing in and out, and the lock of the hub, as far as the user may. */
export function accountActions(): PaletteItem[] {
  const { identity } = me
  if (!identity) return []
  const lock = identity.locked
    ? act(copy.unlock, () => void me.lock(false))
    : act(copy.lock, () => void me.lock(true))
  return [
    ...(me.isVerified && identity.canAdmin ? [lock] : [openAction(copy.lock, '/team/people')]),
    me.isVerified
      ? act(copy.signOut, () => void me.signOut(), undefined, copy.synonyms.signOut)
      : act(appText.sidebar.signIn, () => me.openSignIn(), undefined, copy.synonyms.signIn),
  ]
}

function preferenceActions(): PaletteItem[] {
  const themes: Theme[] = ['system', 'light', 'dark']
  const mute = (minutes: number) => (settings.mutedUntil = minutes === 0 ? 0 : Date.now() + minutes * MINUTE)
  return [
    ...themes
      .filter((theme) => theme !== settings.theme)
      .map((theme) => act(copy.theme(theme), () => (settings.theme = theme))),
    ...(settings.mutedUntil > Date.now()
      ? [act(appText.sidebar.unmute, () => mute(0), copy.muteHint)]
      : [act(copy.mute15, () => mute(15), copy.muteHint), act(copy.mute60, () => mute(60), copy.muteHint)]),
  ]
}

function download(app: string, session: string, format: string) {
  const link = document.createElement('a')
  const what = new URLSearchParams({ source_app: app, session_id: session, format })
  link.href = `/api/session/export?${what}`
  link.download = ''
  link.click()
}

/**
 * The actions of every screen. bindings: the active shortcuts before the palette opened. None
 * decides a request: a decision is made where the request is visible.
 */
export function actionItems(bindings: readonly Binding[], showKeys: () => void): PaletteItem[] {
  const place = router.place
  const [docs, shortcuts] = [
    act(copy.docs, () => router.go('/docs'), copy.help, copy.synonyms.docs),
    act(copy.showShortcuts, showKeys, copy.help),
  ]
  return [
    ...teamActions(),
    act(copy.freeze, () => bindings.find((b) => b.keys === 'Shift+F')?.run(), copy.freezeHint),
    docs,
    shortcuts,
    act(copy.copyLink, () => void navigator.clipboard?.writeText(location.href)),
    ...(place.screen === 'session'
      ? (['markdown', 'ndjson'] as const).map((format) =>
          act(copy.exportSession(format), () => download(place.app, place.session, format)),
        )
      : []),
    ...preferenceActions(),
    ...accountActions(),
  ]
}
