import type { Attachment } from 'svelte/attachments'

/**
 * Calls fn when the element got another size, between layout and paint. What fn asks of
 * the page there costs nothing; asked any earlier, the page is laid out for the question.
 */
export const onResize =
  (fn: () => void): Attachment =>
  (element) => {
    const observer = new ResizeObserver(fn)
    observer.observe(element)
    return () => observer.disconnect()
  }
