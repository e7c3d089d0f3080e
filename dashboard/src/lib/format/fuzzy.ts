/** The score of a text for one search word; 0 if it does not match. */
function matchWord(text: string, word: string): number {
  const at = text.indexOf(word)
  if (at === 0) return 100
  if (at > 0) return /[\p{L}\p{N}]/u.test(text[at - 1] ?? '') ? 60 : 90
  let from = -1
  let gaps = 0
  for (const char of word) {
    const next = text.indexOf(char, from + 1)
    if (next < 0) return 0
    if (from >= 0) gaps += next - from - 1
    from = next
  }
  return Math.max(1, 40 - gaps)
}

/**
 * The fuzzy match score of a text: every word of the query must occur, at least as a
 * subsequence. 0 means no match; higher is better.
 */
export function score(text: string, query: string): number {
  const within = text.toLowerCase()
  let sum = 0
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === '') continue
    const points = matchWord(within, word)
    if (points === 0) return 0
    sum += points
  }
  return sum === 0 ? 1 : sum + 10 / (10 + within.length)
}

/** The matching items, best first; the sort is stable. */
export function rankMatches<T>(items: readonly T[], query: string, text: (item: T) => string): T[] {
  if (query.trim() === '') return [...items]
  return items
    .map((item) => ({ item, points: score(text(item), query) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .map(({ item }) => item)
}
