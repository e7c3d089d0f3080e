import { mount } from 'svelte'
import App from './App.svelte'
import { hub } from './liveState.svelte'
import { router } from './router.svelte'
import { settings } from './settings.svelte'
import './styles/tokens.css'
import './styles/base.css'

settings.apply()
const target = document.getElementById('app')
if (target) {
  if (CSS.supports('color', 'light-dark(#000, #fff)')) {
    // A signed link shows one request, to whoever has it: the rest of the hub may be shut to them.
    if (router.place.screen !== 'vote') hub.start() // the line is being set up while the page is drawn
    mount(App, { target })
  } else
    target.textContent =
      'This browser is too old for the dashboard: it needs Chrome 123, Firefox 128 or Safari 17.5. Agents can still be answered with the command hookback.'
}
