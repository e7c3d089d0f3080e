import { shortcuts } from '../stream/liveState.svelte'

/** Opens a dialog as a modal, and blocks the shortcuts of the page until it leaves the page. */
export function modal(dialog: HTMLDialogElement): () => void {
  const before = document.activeElement
  dialog.showModal()
  const pop = shortcuts.push({ bindings: () => [], modal: true })
  return () => {
    pop()
    if (before instanceof HTMLElement) before.focus()
  }
}
