import { get } from '../api/api'
import { Resource } from '../api/resource.svelte'

/** The policy files that hooks reported, as last loaded. */
export const policies = new Resource(() => get('/api/policies'))
