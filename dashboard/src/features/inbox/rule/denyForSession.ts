import { post, problemOf } from '../../../lib/api/api'
import type { Problem } from '../../../lib/api/types'
import { sessionDenial } from '../../../lib/rules/draft'

/** Creates a rule that denies exactly this call for the session. Returns the problem if that failed. */
export const denyForSession = (id: number, reason = ''): Promise<Problem | undefined> =>
  post('/api/rules', sessionDenial(id, reason)).then(() => undefined, problemOf)
