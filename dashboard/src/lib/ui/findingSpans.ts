import type { Finding, Risk } from '../api/types'

/** A finding with its number in the list of findings. */
export interface NumberedFinding extends Finding {
  n: number
}

/** A segment of text with the same findings. */
export interface TextSegment {
  text: string
  /** The class of the syntax highlighter. */
  kind: string
  risk?: Risk
  /** The texts of the findings, for the tooltip. */
  says?: string
  /** The numbers of the findings that end here. */
  ends?: string
}

const MOST = 200
const order: Risk[] = ['critical', 'high', 'medium', 'low']

/** Locates the excerpts of the findings in a text. */
export function findingSpans(
  text: string,
  findings: NumberedFinding[],
): [from: number, to: number, f: NumberedFinding][] {
  const spans: [number, number, NumberedFinding][] = []
  for (const f of findings) {
    if (!f.excerpt) continue
    for (let at = text.indexOf(f.excerpt); at >= 0 && spans.length < MOST;) {
      spans.push([at, at + f.excerpt.length, f])
      at = text.indexOf(f.excerpt, at + f.excerpt.length)
    }
  }
  return spans
}

/** Splits tokens at the bounds of findings. The segments concatenate to the text. */
export function splitByFindings(
  tokens: { text: string; kind: string }[],
  findings: NumberedFinding[],
): TextSegment[] {
  const text = tokens.map((t) => t.text).join('')
  const spans = findings.length > 0 ? findingSpans(text, findings) : []
  if (spans.length === 0) return tokens
  const cuts = [...new Set(spans.flatMap(([from, to]) => [from, to]))].sort((a, b) => a - b)
  const out: TextSegment[] = []
  let at = 0
  let next = 0
  for (const token of tokens) {
    const end = at + token.text.length
    while (at < end) {
      while (next < cuts.length && (cuts[next] ?? 0) <= at) next++
      const to = Math.min(end, cuts[next] ?? end)
      out.push(segment(text.slice(at, to), token.kind, spans, [at, to]))
      at = to
    }
  }
  return out
}

function segment(
  text: string,
  kind: string,
  spans: [number, number, NumberedFinding][],
  [from, to]: [number, number],
): TextSegment {
  const covering = spans.filter(([a, b]) => a <= from && b >= to).map(([, , f]) => f)
  if (covering.length === 0) return { text, kind }
  const ends = spans.filter(([a, b]) => a <= from && b === to).map(([, , f]) => f.n)
  return {
    text,
    kind,
    risk: order.find((risk) => covering.some((f) => f.risk === risk)),
    says: covering.map((f) => f.text).join(' '),
    ends: ends.length > 0 ? ends.join(' ') : undefined,
  }
}

/** The findings at or below a JSON pointer. */
export const findingsWithin = (findings: NumberedFinding[], at: string | undefined): NumberedFinding[] =>
  findings.filter((f) => at === undefined || f.at === at || (f.at ?? '').startsWith(at + '/'))
