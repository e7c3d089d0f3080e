import { requiresVotes, type Request } from '../requests'
import type { HumanInTheLoop, Vote } from '../types'

/** A choice of a vote, and who is for it. */
export interface ChoiceVotes {
  choice: string
  label: string
  tone: 'ok' | 'no' | 'plain'
  votes: Vote[]
  /** It has as many votes as it takes. */
  won: boolean
}

export interface VoteTally {
  /** How many have to agree. */
  required: number
  choices: ChoiceVotes[]
  votes: Vote[]
  /** Who may still vote. */
  awaiting: string[]
  /** How many may vote at all; 0: whoever may answer. */
  eligible: number
}

const SHOWN = 6

/** What a choice is called, and how it looks. */
export function choiceLabel(question: HumanInTheLoop, choice: string): Pick<ChoiceVotes, 'label' | 'tone'> {
  if (question.type !== 'permission') return { label: choice, tone: 'plain' }
  if (choice === 'approve') return { label: 'Approve', tone: 'ok' }
  return choice === 'deny' ? { label: 'Deny', tone: 'no' } : { label: choice, tone: 'plain' }
}

/** How the votes stand; undefined when one answer is enough. */
export function voteTally(r: Request): VoteTally | undefined {
  if (!requiresVotes(r)) return undefined
  const { question, status } = r
  const votes = status.votes ?? []
  const need = status.requiredApprovals ?? question.requiredApprovals ?? 1
  const offered = question.type === 'permission' ? ['approve', 'deny'] : (question.choices ?? [])
  const choices = [...new Set([...offered, ...votes.map((v) => v.choice)])]
  const sides = choices.map((choice) => {
    const those = votes.filter((v) => v.choice === choice)
    return { choice, ...choiceLabel(question, choice), votes: those, won: those.length >= need }
  })
  // Of many choices those are shown that somebody is for.
  const shown = sides.length > SHOWN ? sides.filter((s) => s.votes.length > 0) : sides
  return { required: need, choices: shown, votes, awaiting: status.awaiting ?? [], eligible: status.recipients?.length ?? 0 }
}

/** How the votes stand, in one line. */
export function tallyText({ required: need, eligible: of, choices: sides }: VoteTally): string {
  const count = sides.filter((s) => s.votes.length > 0).map((s) => `${s.votes.length} ${s.label}`)
  const sofar = count.length > 0 ? count.join(', ') : 'nobody has voted'
  return `${need}${of > 0 ? ` of ${of}` : ''} must agree; so far ${sofar}.`
}

/** Names as people say them: "a, b and c". */
export function joinNames(list: readonly string[]): string {
  if (list.length < 2) return list[0] ?? ''
  return `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
}
