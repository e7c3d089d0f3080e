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
 * The computed values of CSS colors by their names, recomputed only when the theme changes. They are
 * read from an element, because custom properties are not resolved for the theme.
 */
export function resolveColors<K extends string>(colors: Record<K, string>): Record<K, string> {
  changed()
  const probe = document.body.appendChild(document.createElement('i'))
  const values = { ...colors }
  for (const name in values) {
    probe.style.color = colors[name]
    values[name] = getComputedStyle(probe).color
  }
  probe.remove()
  return values
}
