/** Gives an element the focus when it appears. */
export const focusNow = (node: HTMLElement): void => node.focus()
