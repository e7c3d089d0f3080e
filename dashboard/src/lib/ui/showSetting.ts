const ACTIONS = ['wheel', 'pointerdown', 'keydown', 'touchstart']
const CONTROLS = 'input:not([type=radio]), input:checked, button, select, textarea, a[href]'

/**
 * Scrolls what find returns into view: immediately, and again while the parts of the page before it load, until the
 * person acts. shown is called with it the first time. Returns a stop function.
 */
function follow(find: () => HTMLElement | null | undefined, shown: (found: HTMLElement) => void): () => void {
  let before: HTMLElement | null | undefined
  const scroll = () => {
    const found = find()
    found?.scrollIntoView({ block: 'start' })
    if (found && !before) shown(found)
    before ??= found
  }
  const loading = new MutationObserver(scroll)
  const stop = () => {
    loading.disconnect()
    for (const type of ACTIONS) removeEventListener(type, stop, true)
  }
  scroll()
  loading.observe(document.body, { childList: true, subtree: true })
  for (const type of ACTIONS) addEventListener(type, stop, true)
  return stop
}

/** Returns an attachment that shows the section of its node if the fragment of the URL is hash. */
export const scrollToHash = (hash: string) => (node: HTMLElement) => {
  if (location.hash === hash)
    return follow(
      () => node.closest('section') ?? node,
      () => undefined,
    )
}

/** Shows the setting of the page with a label, and focuses its control. */
export function showSetting(label: string): void {
  const labels = 'main :is(h2, legend, label, button)'
  const find = () =>
    [...document.querySelectorAll<HTMLElement>(labels)]
      .find((e) => e.textContent.trim().startsWith(label))
      ?.closest<HTMLElement>('fieldset, label, section')
  follow(find, (setting) => {
    setting.tabIndex = -1 // for a section without a control
    const control = setting.querySelector<HTMLElement>(CONTROLS) ?? setting
    control.focus({ preventScroll: true })
  })
}
