export type * from './schema'

/** The hub's limit of a bulk approval. */
export const MAX_APPROVALS = 100
