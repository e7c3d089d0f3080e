import { ApiError } from '../api'
import { createRule } from '../inboxApi'
import type { Problem } from '../types'
import { sessionDenial } from './draft'

/** Has the hub deny exactly this call for the rest of the session. Returns why it could not. */
export async function denyForSession(id: number, reason = ''): Promise<Problem | undefined> {
  try {
    await createRule(sessionDenial(id, reason))
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.problem
    throw error
  }
}
