import './lib/ui/tokens.css'
import './lib/ui/base.css'
import { mount } from 'svelte'
import App from './app/App.svelte'
import { hub } from './lib/stream/liveState.svelte'
import { router } from './lib/page/router.svelte'
import { settings } from './lib/page/settings.svelte'
import { appText } from './app/text'

settings.apply()
const target = document.getElementById('app')
if (target) {
  if (CSS.supports('color', 'light-dark(#000, #fff)')) {
    // A signed link shows one request; its bearer may not be allowed to read the rest of the hub.
    if (router.place.screen !== 'vote') hub.start() // connects while the page renders
    mount(App, { target })
  } else target.textContent = appText.oldBrowser
}
