import { hub } from '../lib/stream/liveState.svelte'
import { router } from '../lib/page/router.svelte'

// Connects before the modules of the screens are evaluated, which takes longer than the
// handshake on a slow machine. A signed link shows one request, and a share link one session; their
// bearers may not be allowed to read the rest of the hub.
const { screen } = router.place
if (CSS.supports('color', 'light-dark(#000, #fff)') && screen !== 'vote' && screen !== 'shared') hub.start()
