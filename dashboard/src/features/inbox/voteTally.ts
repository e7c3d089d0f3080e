import { requiresVotes, type Request } from '../../lib/stream/requests'
import type { HumanInTheLoop, Vote } from '../../lib/api/types'
import { inboxText } from './text'

/** A choice of a vote and its voters. */
export interface ChoiceVotes {
  choice: string
  label: string
  tone: 'ok' | 'no' | 'plain'
  votes: Vote[]
  /** It has the required number of votes. */
  won: boolean
}

export interface VoteTally {
  /** Number of equal votes required. */
  required: number
  choices: ChoiceVotes[]
  votes: Vote[]
  /** Recipients who have not voted. */
  awaiting: string[]
  /** Number of recipients; 0 if anyone who can answer may vote. */
  eligible: number
}

const SHOWN = 6

/** The label and tone of a choice. */
export function choiceLabel(question: HumanInTheLoop, choice: string): Pick<ChoiceVotes, 'label' | 'tone'> {
  if (question.type !== 'permission') return { label: choice, tone: 'plain' }
  if (choice === 'approve') return { label: inboxText.votes.approve, tone: 'ok' }
  return choice === 'deny' ? { label: inboxText.votes.deny, tone: 'no' } : { label: choice, tone: 'plain' }
}

/** Counts the votes of a request; undefined if it does not require votes. */
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
  // If there are many choices, show only the ones with votes.
  const shown = sides.length > SHOWN ? sides.filter((s) => s.votes.length > 0) : sides
  return {
    required: need,
    choices: shown,
    votes,
    awaiting: status.awaiting ?? [],
    eligible: status.recipients?.length ?? 0,
  }
}

/** The tally in one sentence. */
export function tallyText({ required: need, eligible: of, choices: sides }: VoteTally): string {
  const count = sides.filter((s) => s.votes.length > 0).map((s) => `${s.votes.length} ${s.label}`)
  return inboxText.votes.summary(need, of, count.length > 0 ? count.join(', ') : inboxText.votes.none)
}
