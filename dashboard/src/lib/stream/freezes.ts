import type { Event } from '../api/types'
import type { Freeze } from '../api/schema'

/** The freeze that stops the agent of an event; undefined if none does. */
export const freezeOf = (
  freezes: readonly Freeze[],
  event: Pick<Event, 'source_app' | 'session_id'>,
): Freeze | undefined =>
  freezes.find(
    (f) =>
      f.scope === 'all' ||
      (f.source_app === event.source_app && (f.scope === 'app' || f.session_id === event.session_id)),
  )
