import { createSubscriber } from 'svelte/reactivity'

const mediaQueries = ['(prefers-color-scheme: dark)', '(prefers-contrast: more)', '(forced-colors: active)']

const changed = createSubscriber((update) => {
  const observer = new MutationObserver(update)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
  const media = mediaQueries.map((query) => window.matchMedia(query))
  for (const query of media) query.addEventListener('change', update)
  return () => {
    observer.disconnect()
    for (const query of media) query.removeEventListener('change', update)
  }
})

/**
 * The computed colors of an element's children, recomputed only when the theme changes,
 * because each read forces a style computation. Colors are read from elements because
 * custom properties are not resolved for the theme.
 */
export function resolveColors(palette: HTMLElement): string[] {
  changed()
  return Array.from(palette.children, (child) => getComputedStyle(child).color)
}
