import type { Message } from '../../lib/api/schema'

type MessageState = Message['state']

/** The time after which an unread message can be sent again, ms. */
const RESEND_AFTER = 60_000

/** The number of ticks: saved, handed over, acted on. */
export function messageSteps(state: MessageState): number {
  if (state === 'saved') return 1
  if (state === 'handed_over') return 2
  return state === 'acted_on' ? 3 : 0
}

/** Whether the agent has not acted on a message for so long that its hook may have lost it. */
export function mayResend(message: Message, now: number): boolean {
  return message.state === 'handed_over' && now - (message.handed_at ?? now) >= RESEND_AFTER
}

/** The coding agents whose hooks hand messages to the model. The hub has the same list. */
const receivers = ['claude-code', 'codex', 'gemini', 'qwen']

/** Why a session cannot receive a message; undefined if it can. */
export function unsupportedReason(codingAgent: string, ended: boolean): 'ended' | 'agent' | undefined {
  if (ended) return 'ended'
  return receivers.includes(codingAgent) ? undefined : 'agent'
}

/** A new idempotency key. crypto.randomUUID does not exist on pages without TLS. */
export const newKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')
