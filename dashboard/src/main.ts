import { mount } from 'svelte'
import App from './App.svelte'
import { hub } from './liveState.svelte'
import { router } from './router.svelte'
import { settings } from './settings.svelte'
import { appText } from './text'
import './styles/tokens.css'
import './styles/base.css'

settings.apply()
const target = document.getElementById('app')
if (target) {
  if (CSS.supports('color', 'light-dark(#000, #fff)')) {
    // A signed link shows one request; its bearer may not be allowed to read the rest of the hub.
    if (router.place.screen !== 'vote') hub.start() // connects while the page renders
    mount(App, { target })
  } else target.textContent = appText.oldBrowser
}
