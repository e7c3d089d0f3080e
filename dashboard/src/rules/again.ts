import { ApiError } from '../api'
import { makeRule } from '../inboxApi'
import type { Problem } from '../types'
import { denial } from './draft'

/** Has the hub deny exactly this call for the rest of the session. Returns why it could not. */
export async function dontAskAgain(id: number, reason = ''): Promise<Problem | undefined> {
  try {
    await makeRule(denial(id, reason))
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error.problem
    throw error
  }
}
