import { onDestroy } from 'svelte'
import { Poller } from '../api/poller'
import type { Topic } from './hubNotices'
import { hub } from './liveState.svelte'

interface Refresh {
  /** Changes of the hub's state that need a load. */
  topics?: Topic[]
  /** The time after which it is loaded without one, ms; absent: it is not. */
  every?: number
  /** The shortest time between two loads, ms. */
  interval?: number
  /** By how much the loaded figures are behind, ms: if they are, they are loaded again. */
  behind?: () => number | undefined
}

/**
 * Loads the data of the calling component: now, and again until the component is destroyed. Returns the
 * function that requests a load.
 */
export function keepFresh(
  load: () => Promise<void>,
  { topics = [], every, interval, behind }: Refresh,
): () => void {
  const request = () => poller.request()
  const poller = new Poller(async () => {
    await load()
    if (behind?.()) request()
  }, interval)
  const stops = topics.map((topic) => hub.scheduler.on(topic, request))
  const timer = every && setInterval(request, every)
  onDestroy(() => {
    for (const stop of stops) stop()
    clearInterval(timer)
    poller.stop()
  })
  request()
  return request
}
