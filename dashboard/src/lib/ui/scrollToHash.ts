/**
 * Returns an attachment that scrolls to the section of its node if the fragment of the URL is hash: at once, and again
 * while the sections before it load, until the person acts.
 */
export const scrollToHash = (hash: string) => (node: HTMLElement) => {
  const page = node.closest('.page')
  if (location.hash !== hash || !page) return
  const section = node.closest('section') ?? node
  const scroll = () => section.scrollIntoView({ block: 'start' })
  const loading = new MutationObserver(scroll)
  const stop = () => {
    loading.disconnect()
    for (const type of ACTIONS) removeEventListener(type, stop, true)
  }
  scroll()
  loading.observe(page, { childList: true, subtree: true })
  for (const type of ACTIONS) addEventListener(type, stop, true)
  return stop
}

const ACTIONS = ['wheel', 'pointerdown', 'keydown', 'touchstart']
