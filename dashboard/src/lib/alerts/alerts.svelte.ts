import { hub } from '../stream/liveState.svelte'
import { router } from '../page/router.svelte'
import { settings } from '../page/settings.svelte'
import { DesktopAlerts } from './desktopAlerts'

/** The desktop alerts of this tab. */
export const alerts = new DesktopAlerts({
  preferences: () => settings.all(),
  hubId: () => hub.hubId,
  request: (id) => hub.request(id),
  visit: (id) => router.go(`/inbox/${id}`),
})
