import { mount } from 'svelte'
import App from './App.svelte'
import { hub } from './live.svelte'
import { settings } from './settings.svelte'
import './styles/tokens.css'
import './styles/base.css'

settings.show()
const target = document.getElementById('app')
if (target) {
  if (CSS.supports('color', 'light-dark(#000, #fff)')) {
    hub.start() // the line is being set up while the page is drawn
    mount(App, { target })
  } else
    target.textContent =
      'This browser is too old for the dashboard: it needs Chrome 123, Firefox 128 or Safari 17.5. Agents can still be answered with the command hookback.'
}
