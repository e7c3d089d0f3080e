/** The least score of a text that contains every word. */
const CONTAINS = 10

/** The score of a text that contains the word; 0 if it does not. */
function matchSubstring(text: string, word: string): number {
  const at = text.indexOf(word)
  if (at <= 0) return at === 0 ? 100 : 0
  return /[\p{L}\p{N}]/u.test(text[at - 1] ?? '') ? 60 : 90
}

/** The score of a text that has the letters of the word in order and near to each other; 0 if it does not. */
function matchLetters(text: string, word: string): number {
  let from = -1
  let gaps = 0
  for (const char of word) {
    const next = text.indexOf(char, from + 1)
    if (next < 0) return 0
    if (from >= 0) gaps += next - from - 1
    from = next
  }
  return gaps > 3 * word.length ? 0 : 1 / (1 + gaps)
}

/**
 * The match score of a text: every word of the query must occur, at least by its letters. A text that
 * contains all words scores 10 or more, any other one less. 0 means no match; higher is better.
 */
export function score(text: string, query: string): number {
  const within = text.toLowerCase()
  let sum = 0
  let loose = false
  for (const word of query.toLowerCase().split(/\s+/)) {
    if (word === '') continue
    const whole = matchSubstring(within, word)
    const points = whole || matchLetters(within, word)
    if (points === 0) return 0
    loose ||= whole === 0
    sum += points
  }
  if (sum === 0) return CONTAINS
  return (loose ? 1 - 1 / (1 + sum) : sum) + 1 / (10 + within.length)
}

/**
 * The matching items, best first; the sort is stable. strict: the items that must contain every word, because
 * the letters alone could name another one.
 */
export function rankMatches<T>(
  items: readonly T[],
  query: string,
  text: (item: T) => string,
  strict: (item: T) => boolean = () => false,
): T[] {
  if (query.trim() === '') return [...items]
  return items
    .map((item) => ({ item, points: score(text(item), query) }))
    .filter(({ item, points }) => points >= (strict(item) ? CONTAINS : Number.MIN_VALUE))
    .sort((a, b) => b.points - a.points)
    .map(({ item }) => item)
}
