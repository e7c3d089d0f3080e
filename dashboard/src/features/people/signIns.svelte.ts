import { get } from '../../lib/api/api'
import { Resource } from '../../lib/api/resource.svelte'

/** The signed-in browsers that the user may see: everyone's for an admin, else their own. */
export const signIns = new Resource(() => get('/api/sign-ins'))
