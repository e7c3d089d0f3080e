import { policies as fetchPolicies } from '../api/inboxApi'
import { Resource } from '../api/resource.svelte'

/** The policy files that hooks reported, as last loaded. */
export const policies = new Resource(fetchPolicies)
