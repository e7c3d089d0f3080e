import { ApiError } from '../api'
import { createRule } from '../inboxApi'
import type { Problem } from '../types'
import { sessionDenial } from './draft'

/** Creates a rule that denies exactly this call for the session. Returns the problem if that failed. */
export async function denyForSession(id: number, reason = ''): Promise<Problem | undefined> {
  try {
    await createRule(sessionDenial(id, reason))
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.problem
    throw error
  }
}
