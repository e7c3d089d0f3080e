import { isBallot, type Request } from '../requests'
import type { HumanInTheLoop, Vote } from '../types'

/** A choice of a vote, and who is for it. */
export interface Side {
  choice: string
  word: string
  tone: 'ok' | 'no' | 'plain'
  votes: Vote[]
  /** It has as many votes as it takes. */
  won: boolean
}

export interface Tally {
  /** How many have to agree. */
  need: number
  sides: Side[]
  votes: Vote[]
  /** Who may still vote. */
  awaiting: string[]
  /** How many may vote at all; 0: whoever may answer. */
  of: number
}

const SHOWN = 6

/** What a choice is called, and how it looks. */
export function wordOf(question: HumanInTheLoop, choice: string): Pick<Side, 'word' | 'tone'> {
  if (question.type !== 'permission') return { word: choice, tone: 'plain' }
  if (choice === 'approve') return { word: 'Approve', tone: 'ok' }
  return choice === 'deny' ? { word: 'Deny', tone: 'no' } : { word: choice, tone: 'plain' }
}

/** How the votes stand; undefined when one answer is enough. */
export function tallyOf(r: Request): Tally | undefined {
  if (!isBallot(r)) return undefined
  const { question, status } = r
  const votes = status.votes ?? []
  const need = status.requiredApprovals ?? question.requiredApprovals ?? 1
  const offered = question.type === 'permission' ? ['approve', 'deny'] : (question.choices ?? [])
  const choices = [...new Set([...offered, ...votes.map((v) => v.choice)])]
  const sides = choices.map((choice) => {
    const those = votes.filter((v) => v.choice === choice)
    return { choice, ...wordOf(question, choice), votes: those, won: those.length >= need }
  })
  // Of many choices those are shown that somebody is for.
  const shown = sides.length > SHOWN ? sides.filter((s) => s.votes.length > 0) : sides
  return { need, sides: shown, votes, awaiting: status.awaiting ?? [], of: status.recipients?.length ?? 0 }
}

/** How the votes stand, in one line. */
export function standing({ need, of, sides }: Tally): string {
  const count = sides.filter((s) => s.votes.length > 0).map((s) => `${s.votes.length} ${s.word}`)
  const sofar = count.length > 0 ? count.join(', ') : 'nobody has voted'
  return `${need}${of > 0 ? ` of ${of}` : ''} must agree; so far ${sofar}.`
}

/** Names as people say them: "a, b and c". */
export function names(list: readonly string[]): string {
  if (list.length < 2) return list[0] ?? ''
  return `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
}
