import './lib/ui/tokens.css'
import './lib/ui/base.css'
import './lib/ui/classes.css'
import './lib/ui/surfaces.css'
import './app/connect'
import { mount } from 'svelte'
import App from './app/App.svelte'
import { router } from './lib/page/router.svelte'
import { settings } from './lib/page/settings.svelte'
import { appText } from './app/text'

settings.apply()
const target = document.getElementById('app')
if (target) {
  if (!CSS.supports('color', 'light-dark(#000, #fff)')) target.textContent = appText.oldBrowser
  else if (router.place.screen !== 'shared') mount(App, { target })
  else
    import('./app/shared').then(
      ({ default: Shared }) => mount(Shared, { target }),
      () => (target.textContent = appText.notLoaded),
    )
}
