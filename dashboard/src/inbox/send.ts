import { settings } from '../settings.svelte'
import type { Response } from '../types'

/** The answer, held back by the hub as long as the person wants to be able to undo it. */
export const withUndo = (what: Response): Response =>
  settings.undo > 0 ? { ...what, holdMs: settings.undo * 1000 } : what
