import type { CallUnread, CallView } from '../api/schema'
import type { TextPart } from '../format/callPreview'
import type { Finding, Risk } from '../api/types'

/** A finding with its number in the list of findings. */
export interface NumberedFinding extends Finding {
  n: number
}

/** A part of a text that is marked: a finding, what the hub could not read, or, without a risk, a program. */
export type Span = [from: number, to: number, about: { risk?: Risk; text: string; n?: number }]

/** A segment of text with the same findings. */
export interface TextSegment {
  text: string
  /** The class of the syntax highlighter, and program. */
  kind: string
  risk?: Risk
  /** The texts of the findings, for the tooltip. */
  says?: string
  /** The numbers of the findings that end here. */
  ends?: string
}

const MOST = 200
const order: Risk[] = ['critical', 'high', 'medium', 'low']

/** The programs in a text at a JSON pointer of a call, and what of it the hub could not read. */
export function viewSpans(view: CallView | undefined, pointer: string, parts: TextPart[]): Span[] {
  const spans = (place: Omit<CallUnread, 'reason'>, about: Span[2]): Span[] => {
    const part = parts.find(({ at }) => at === place.at)
    if (part) return [[part.from + (place.from ?? 0), part.from + (place.to ?? part.length), about]]
    return place.at === pointer && about.risk ? [[0, Infinity, about]] : []
  }
  return [
    ...(view?.commands ?? []).flatMap((command) => spans(command, { text: '' })),
    ...(view?.unread ?? []).flatMap((part) => spans(part, { risk: 'medium', text: part.reason })),
  ]
}

/** Locates the excerpts of the findings in a text. */
export function findingSpans(text: string, findings: NumberedFinding[]): Span[] {
  const spans: Span[] = []
  for (const f of findings) {
    if (!f.excerpt) continue
    for (let at = text.indexOf(f.excerpt); at >= 0 && spans.length < MOST;) {
      spans.push([at, at + f.excerpt.length, f])
      at = text.indexOf(f.excerpt, at + f.excerpt.length)
    }
  }
  return spans
}

/** Splits tokens at the bounds of findings and other spans. The segments concatenate to the text. */
export function splitByFindings(
  tokens: { text: string; kind: string }[],
  findings: NumberedFinding[],
  more: Span[] = [],
): TextSegment[] {
  const text = tokens.map((t) => t.text).join('')
  const spans = [...findingSpans(text, findings), ...more]
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

function segment(text: string, kind: string, spans: Span[], [from, to]: [number, number]): TextSegment {
  const covering = spans.filter(([a, b]) => a <= from && b >= to)
  const found = covering.filter(([, , { risk }]) => risk)
  const ends = found.flatMap(([, b, { n }]) => (b === to && n !== undefined ? [n] : []))
  return {
    text,
    kind: covering.length > found.length ? `${kind} program`.trim() : kind,
    ...(found.length > 0 && {
      risk: order.find((risk) => found.some(([, , f]) => f.risk === risk)),
      says: found.map(([, , f]) => f.text).join(' '),
      ends: ends.length > 0 ? ends.join(' ') : undefined,
    }),
  }
}

/** The findings at or below a JSON pointer. */
export const findingsWithin = (findings: NumberedFinding[], at: string | undefined): NumberedFinding[] =>
  findings.filter((f) => at === undefined || f.at === at || (f.at ?? '').startsWith(at + '/'))

const riskTones: Partial<Record<Risk, string>> = { low: 'plain', high: 'no', critical: 'no' }
/** The tone of a risk. */
export const riskTone = (risk: Risk): string => riskTones[risk] ?? 'wait'
