import type { Kind, Risk } from '../api/types'
import type { AgentState } from '../stream/agents'

// Texts about requests and times that several screens show.

/** The singular or the plural form for n. */
export const plural = (n: number, singular: string, plural: string) => (n === 1 ? singular : plural)

/** "once", "twice", "3 times". */
export const times = (n: number): string => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n} times`)

/** "a, b and c". */
export function joinNames(list: readonly string[]): string {
  if (list.length < 2) return list[0] ?? ''
  return `${list.slice(0, -1).join(', ')} and ${list.at(-1)}`
}

/** The names of the states of agents. */
export const stateNames: Record<AgentState, string> = {
  'needs-you': 'needs you',
  undelivered: 'not delivered',
  failing: 'failing',
  terminal: 'waiting in the terminal',
  working: 'working',
  'turn-ended': 'turn ended',
  idle: 'idle',
  frozen: 'frozen',
  gone: 'gone',
  ended: 'ended',
}

export const kindNames: Record<Kind, string> = {
  permission: 'Permission',
  question: 'Question',
  choice: 'Choice',
}

export const riskNames: Record<Risk, string> = {
  low: 'Low risk',
  medium: 'Medium risk',
  high: 'High risk',
  critical: 'Critical risk',
}

export const requestText = {
  outcome: {
    outcomes: {
      approved: 'Approved',
      denied: 'Denied',
      answered: 'Answered',
      noAnswer: 'No answer',
      canceled: 'Canceled',
      withdrawn: 'Withdrawn by the agent',
      noMajority: 'No majority',
      pending: 'Needs you',
      atAgent: 'Settled at the agent',
      terminal: 'Answered in the terminal',
      dismissed: 'Dismissed in the agent',
      agentGone: 'The agent is gone',
      sessionEnded: 'The session ended',
      superseded: 'Replaced by a newer request',
    },
    resolvedBy: {
      you: 'you',
      votes: 'the votes',
      unknown: 'unknown',
      /** By the source of the status. */
      sources: {
        rule: 'a rule',
        timeout: 'the deadline',
        dismissed: 'a person at the agent',
        agent: 'the agent',
        session_end: 'the end of the session',
        orphaned: 'the agent disconnecting',
        superseded: 'a newer request of the agent',
        freeze: 'a freeze',
      },
    },
    expiredFirst: 'It ended before your answer arrived. This is how it ended.',
    supersededBy: (who: string) =>
      `${who} was faster: your answer was not accepted. This is the answer that counts.`,
    it: 'Another answer',
  },

  delivery: {
    saving: 'saving',
    saved: 'saved',
    sent: 'sent',
    delivered: 'delivered',
    notified: 'agent notified',
    ranAnyway: 'ran anyway',
    continued: 'continued',
    runs: 'runs',
    ran: { executing: 'running', succeeded: 'ran', failed: 'ran and failed', interrupted: 'interrupted' },
    fetched: 'fetched',
    fetchedUnverified: 'fetched (not verified)',
    received: 'received by agent',
    keptOpen: 'agent kept the connection open',
    waitingForAgent: 'waiting for agent',
    queued: 'queued',
    sending: 'sending',
    unconfirmed: 'not confirmed',
    tooLate: 'too late',
    refused: 'refused',
    unreachable: 'agent unreachable',
    blocked: 'blocked',
    notPickedUp: 'not picked up',
    ranBeforeAnswer: 'It ran before anyone answered',
    ranDespiteDenial: 'It ran although it was denied',
    ranUnapproved: 'It ran without approval',
    attempts: (n: number) => plural(n, '1 attempt', `${n} attempts`),
    /** By the state of the delivery. */
    problems: {
      unconfirmed: 'Connection lost',
      refused: 'The agent refused the answer',
      unreachable: 'The agent could not be reached',
      too_late: 'The answer came too late',
      blocked: 'The hub may not call this agent',
    },
    retrying: 'The agent can’t be reached',
  },

  call: {
    source: 'arguments',
    everyOccurrence: 'every occurrence',
    cell: (mode: string, cell: string) =>
      `${mode === 'replace' ? 'replaces the source of' : mode === 'delete' ? 'deletes' : 'inserts'} cell ${cell}`.trimEnd(),
  },

  findings: {
    harmless: 'Known to be harmless.',
    passkey: 'Approving needs a passkey.',
  },
} as const

export const dateText = {
  today: 'Today',
  days: (n: number) => `${n} days`,
  fromTo: (from: string, to: string) => `${from} to ${to}`,
  since: (day: string) => `since ${day}`,
  until: (day: string) => `until ${day}`,
  anyTime: 'Any time',
}
