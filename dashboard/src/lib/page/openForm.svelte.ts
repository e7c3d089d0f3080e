import { untrack } from 'svelte'
import { router } from './router.svelte'

/**
 * Opens a form while the address asks for it with ?new=form, as links of the palette do. ready: whether the
 * person may use the form, which can become known later. It must be called while a component starts.
 */
export function openForm(form: string, ready: () => boolean, open: () => void): void {
  $effect(() => {
    if (router.query.get('new') !== form || !ready()) return
    untrack(() => {
      open()
      router.set({ new: '' })
    })
  })
}
