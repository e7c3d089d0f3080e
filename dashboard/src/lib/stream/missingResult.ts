import { apiText } from '../api/text'
import type { Problem } from '../api/types'

/** The problem of a request of a batch for which the hub returned no result. */
export const missingResult: Problem = {
  type: 'about:blank',
  title: apiText.noResult,
  status: 0,
  code: 'internal',
  error: apiText.noResultDetail,
  detail: apiText.noResultDetail,
}
