import { get } from '../api/api'
import { linkReachText } from './lazyText'

/**
 * Replaces a copied link to a path by one that works on other devices, if there is one. Returns what to
 * add to the message that a link was copied.
 */
export async function copyPublicLink(path: string): Promise<string> {
  try {
    const { state, publicUrl } = await get('/api/reach')
    if (state === 'ok' && publicUrl !== location.origin) await navigator.clipboard.writeText(publicUrl + path)
    return state === 'local' ? ' ' + linkReachText.copied : ''
  } catch {
    return '' // an older hub, or a browser that copies on a key press only
  }
}
