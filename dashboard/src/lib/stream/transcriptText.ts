import type { Json } from '../api/types'
import { fold } from './eventText'

/**
 * Members of a transcript without words of a person or a model. server/internal/filter has the
 * same list.
 */
const unsearched = new Set([
  'type',
  'role',
  'id',
  'uuid',
  'parentUuid',
  'sessionId',
  'requestId',
  'tool_use_id',
  'timestamp',
  'model',
  'signature',
  'data',
  'media_type',
])

/** The texts of a transcript, case-folded and each followed by a line break. */
export function transcriptText(chat: Json | undefined): string {
  if (typeof chat === 'string') return fold(chat) + '\n'
  if (chat === null || typeof chat !== 'object') return ''
  const members = Array.isArray(chat)
    ? chat
    : Object.entries(chat).flatMap(([name, value]) => (unsearched.has(name) ? [] : [value]))
  return members.map(transcriptText).join('')
}
