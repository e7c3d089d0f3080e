import type { Event, Json } from '../../lib/api/types'
import { parseTranscript } from '../../lib/ui/transcript'

/** The last text of the agent in the chat of an event. */
function lastText(chat: Json | undefined): string {
  if (!chat) return ''
  const said = parseTranscript(chat).messages.findLast(
    (m) => m.role === 'assistant' && m.parts.some((part) => part.kind === 'text'),
  )
  return said?.parts.map((part) => (part.kind === 'text' ? part.text : '')).join('') ?? ''
}

/** The words of the agent in these events, oldest first, without repetitions. */
export function agentWords(events: readonly Event[]): string[] {
  const words = events.map(({ payload, chat }) => {
    const said = payload.last_assistant_message
    return (typeof said === 'string' ? said : lastText(chat as Json | undefined)).trim()
  })
  return [...new Set(words.filter(Boolean))]
}
