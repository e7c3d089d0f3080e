import type { Attachment } from 'svelte/attachments'

/**
 * Calls fn when the element was resized, between layout and paint. Reading sizes there is
 * free; reading them earlier would force a layout.
 */
export const onResize =
  (fn: () => void): Attachment =>
  (element) => {
    const observer = new ResizeObserver(fn)
    observer.observe(element)
    return () => observer.disconnect()
  }
