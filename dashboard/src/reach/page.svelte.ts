import { hub } from '../live.svelte'
import { router } from '../router.svelte'
import { settings } from '../settings.svelte'
import { Reach } from './reach'

/** The page's own way to the person. */
export const reach = new Reach({
  preferences: () => settings.all(),
  hubId: () => hub.hubId,
  request: (id) => hub.request(id),
  visit: (id) => router.go(`/inbox/${id}`),
})
