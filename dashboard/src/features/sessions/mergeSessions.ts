import type { Session } from '../../lib/api/schema'

const keyOf = (s: Session): string => JSON.stringify([s.source_app, s.session_id])

/**
 * Merges newer summaries into the list, sorted by last activity. If frozen, rows keep their
 * position and new sessions are left out.
 */
export function mergeSessions(
  before: readonly Session[],
  newer: readonly Session[],
  frozen: boolean,
): Session[] {
  const updates = new Map(newer.map((s) => [keyOf(s), s]))
  const kept = before.map((s) => updates.get(keyOf(s)) ?? s)
  if (frozen) return kept
  const known = new Set(before.map(keyOf))
  const all = [...kept, ...newer.filter((s) => !known.has(keyOf(s)))]
  return all.sort((a, b) => b.lastAt - a.lastAt || b.lastId - a.lastId)
}
