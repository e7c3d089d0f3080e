// API calls for links that show one session.
import { call, post, remove } from './api'
import type { Share, ShareDraft, SharedSession } from './schema'

/** The links of a session that have not ended. */
export const sharesOf = (app: string, session: string) =>
  call<Share[]>(`/api/shares?${new URLSearchParams({ source_app: app, session_id: session })}`)

/** All links that have not ended. */
export const shares = () => call<Share[]>('/api/shares')

/** Creates a link. Only this result contains its URL. */
export const createShare = (draft: ShareDraft) => post<Share>('/api/shares', draft)

export const revokeShare = (id: string) => remove<Share[]>(`/api/shares/${id}`)

/** The session of the link that showShare set. */
export const sharedSession = () => call<SharedSession>('/api/shared')
