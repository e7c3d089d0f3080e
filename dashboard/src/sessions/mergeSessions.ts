import type { Session } from '../schema'

const keyOf = (s: Session): string => JSON.stringify([s.source_app, s.session_id])

/**
 * Takes newer sums into the list, the latest active first. held: every row stays in
 * its place, and new sessions wait until the list is let go.
 */
export function mergeSessions(
  before: readonly Session[],
  newer: readonly Session[],
  held: boolean,
): Session[] {
  const fresh = new Map(newer.map((s) => [keyOf(s), s]))
  const kept = before.map((s) => fresh.get(keyOf(s)) ?? s)
  if (held) return kept
  const known = new Set(before.map(keyOf))
  const all = [...kept, ...newer.filter((s) => !known.has(keyOf(s)))]
  return all.sort((a, b) => b.lastAt - a.lastAt || b.lastId - a.lastId)
}
