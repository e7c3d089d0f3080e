import { createSubscriber } from 'svelte/reactivity'

const mediaQueries = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']

const changed = createSubscriber((update) => {
  const looks = new MutationObserver(update)
  looks.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const media = mediaQueries.map((query) => window.matchMedia(query))
  for (const query of media) query.addEventListener('change', update)
  return () => {
    looks.disconnect()
    for (const query of media) query.removeEventListener('change', update)
  }
})

/**
 * The colours that the children of an element have, looked up anew when the theme
 * changes and not with every drawing: the browser works out all styles for it. Only an
 * element's own colour is resolved for the theme; a custom property is not.
 */
export function resolveColors(palette: HTMLElement): string[] {
  changed()
  return Array.from(palette.children, (child) => getComputedStyle(child).color)
}
