import { ApiError, post } from '../../../lib/api/api'
import type { Problem } from '../../../lib/api/types'
import { sessionDenial } from '../../../lib/rules/draft'

/** Creates a rule that denies exactly this call for the session. Returns the problem if that failed. */
export async function denyForSession(id: number, reason = ''): Promise<Problem | undefined> {
  try {
    await post('/api/rules', sessionDenial(id, reason))
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.problem
    throw error
  }
}
