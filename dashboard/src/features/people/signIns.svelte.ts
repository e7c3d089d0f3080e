import * as api from '../../lib/api/api'
import { ResourceList } from '../../lib/api/resourceList.svelte'

/** The signed-in browsers that the user may see: everyone's for an admin, else their own. */
export const signIns = new ResourceList(api.signIns)
