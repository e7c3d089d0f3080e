import { createKeybindingsHandler } from 'tinykeys'

/** What a key does. */
export interface Binding {
  /** In tinykeys' notation, such as "a", "Shift+D" or "g i". */
  keys: string
  run(): void
  /** What it does, in words, where keymap.ts does not say it. */
  description?: string
  /** It decides a request: subject to the grace period and the rest of the safe keys. */
  decides?: boolean
  /** It only opens a form for a decision: the request need not be in sight. */
  opens?: boolean
  /** It must be held down this long (ms) before it runs; 0 or absent: a tap will do. */
  hold?(): number
  /** Works while a text field has the focus too, such as Ctrl+Enter. */
  inFields?: boolean
}

/** The keys of one part of the page. */
export interface Scope {
  bindings(): Binding[]
  /** No scope below this one gets any key: a dialog. */
  modal?: boolean
}

/** The outside world, so that tests can stand in for it. */
export interface ShortcutEnvironment {
  now(): number
  hasFocus(): boolean
  enabled(): boolean
  /** The keys a person chose in the place of the usual ones. */
  remapped?(keys: string): string
}

export const GRACE = 500
export const CLICK_GUARD = 250

const browser: ShortcutEnvironment = {
  now: () => performance.now(),
  hasFocus: () => document.hasFocus(),
  enabled: () => true,
}

/**
 * Single keys decide what agents do, so they must never decide by accident.
 *
 * A deciding key is dead for 500 ms after the selected request changed without the
 * person's doing, and every key pressed in that time starts it anew. No key acts
 * while the page lacks the focus, while a field has it, or while it repeats. A
 * request out of sight is scrolled to first. What is risky must be held, not
 * tapped. A click that brings the window to the front decides nothing.
 */
export class ShortcutDispatcher {
  private readonly scopes: Scope[] = []
  private graceUntil = -Infinity
  private focusedAt = -Infinity
  private guardedPress = false
  private activeHold: { key: string; stop(): void } | undefined
  private graceListeners: Set<() => void> = new Set()

  /** Brings the request into sight; false when it already was. */
  reveal: () => boolean = () => false
  /** Shows how a hold goes on: true at its begin, false at its end. */
  onHold: (going: boolean) => void = () => undefined

  constructor(private readonly world: ShortcutEnvironment = browser) {}

  /** Listens to the window; returns how to stop. */
  listen(target: Window): () => void {
    const down = (e: KeyboardEvent) => this.keydown(e)
    const up = (e: KeyboardEvent) => this.keyup(e)
    const focus = () => this.windowFocused()
    const press = () => this.pointerPressed()
    const blur = () => this.cancelHold()
    target.addEventListener('keydown', down)
    target.addEventListener('keyup', up)
    target.addEventListener('focus', focus)
    target.addEventListener('blur', blur)
    target.addEventListener('pointerdown', press, true)
    return () => {
      target.removeEventListener('keydown', down)
      target.removeEventListener('keyup', up)
      target.removeEventListener('focus', focus)
      target.removeEventListener('blur', blur)
      target.removeEventListener('pointerdown', press, true)
    }
  }

  /** Adds a scope above the others; returns how to take it away. */
  push(scope: Scope): () => void {
    this.scopes.push(scope)
    this.clearSequences(scope)
    return () => {
      this.scopes.splice(this.scopes.indexOf(scope), 1)
      this.clearSequences(scope)
      this.cancelHold()
    }
  }

  /**
   * A dialog takes half a sequence away; another part of the page that comes up or goes
   * meanwhile by itself must not: its person would press "g i" and stay.
   */
  private clearSequences(scope: Scope): void {
    if (scope.modal) this.sequences.clear()
    else this.sequences.delete(scope)
  }

  /** The selected request changed without the person's doing. */
  startGrace(): void {
    this.graceUntil = this.world.now() + GRACE
    this.cancelHold()
    for (const fn of this.graceListeners) fn()
  }

  /** The person selected a request: they know what is selected. */
  endGrace(): void {
    this.graceUntil = -Infinity
    this.cancelHold()
    for (const fn of this.graceListeners) fn()
  }

  /** Every binding that acts now, those of the topmost scope first. */
  active(): Binding[] {
    const modal = this.scopes.findLastIndex((scope) => scope.modal)
    return this.scopes
      .slice(Math.max(0, modal))
      .reverse()
      .flatMap((scope) => scope.bindings())
  }

  /** Calls fn whenever the grace period begins, grows or is called off. */
  onGrace(fn: () => void): () => void {
    this.graceListeners.add(fn)
    return () => this.graceListeners.delete(fn)
  }

  /** How long deciding keys stay dead, ms. */
  get graceLeft(): number {
    return Math.max(0, this.graceUntil - this.world.now())
  }

  /**
   * Whether a click may decide now. Clicks obey the grace period too: the second
   * half of a double click must not answer the next request.
   */
  allowsClick(): boolean {
    if (this.guardedPress) return false
    return !this.extendGrace()
  }

  windowFocused(): void {
    this.focusedAt = this.world.now()
  }

  /** A pointer went down somewhere. */
  pointerPressed(): void {
    this.guardedPress = this.world.now() - this.focusedAt < CLICK_GUARD
  }

  keyup(e: KeyboardEvent): void {
    if (this.activeHold?.key === e.key.toLowerCase()) this.cancelHold()
  }

  /** Ends a hold that has not been long enough. */
  cancelHold(): void {
    this.activeHold?.stop()
    this.activeHold = undefined
  }

  /** Begins a hold; run is called when it has lasted long enough. */
  startHold(key: string, ms: number, run: () => void): void {
    this.cancelHold()
    const timer = setTimeout(() => {
      this.cancelHold()
      run()
    }, ms)
    this.onHold(true)
    this.activeHold = {
      key: key.toLowerCase(),
      stop: () => {
        clearTimeout(timer)
        this.onHold(false)
      },
    }
  }

  // :: scope → keys → its handler, kept so that sequences such as "g i" outlive a key
  private readonly sequences = new Map<Scope, Map<string, EventListener>>()

  keydown(e: KeyboardEvent): void {
    if (e.repeat || e.defaultPrevented || e.isComposing || !this.world.hasFocus()) return
    if (isControlPress(e)) return
    const field = isTextField(e.target)
    for (let i = this.scopes.length - 1; i >= 0; i--) {
      const scope = this.scopes[i]
      if (!scope) continue
      if (this.dispatch(scope, e, field) || scope.modal) return
    }
  }

  private dispatch(scope: Scope, e: KeyboardEvent, field: boolean): boolean {
    let taken = false
    for (const binding of scope.bindings()) {
      const modified = e.ctrlKey || e.metaKey || e.altKey
      if (field && !binding.inFields) continue
      if (!modified && !binding.inFields && !this.world.enabled()) continue
      const handlers = this.sequences.get(scope) ?? new Map<string, EventListener>()
      this.sequences.set(scope, handlers)
      const { keys } = binding
      const pressed = this.world.remapped?.(keys) ?? keys
      const name = `${keys} ${pressed}`
      let handler = handlers.get(name)
      if (!handler) {
        handler = createKeybindingsHandler({ [pressed]: (event) => this.trigger(scope, keys, event) })
        handlers.set(name, handler)
      }
      handler(e)
      if (e.defaultPrevented) {
        // Those behind it did not see this key: they must not wait for their second one.
        this.sequences.clear()
        taken = true
        break
      }
    }
    return taken
  }

  private trigger(scope: Scope, keys: string, e: KeyboardEvent): void {
    const binding = scope.bindings().find((b) => b.keys === keys)
    if (!binding) return
    e.preventDefault()
    if (!binding.decides) return binding.run()
    if (this.extendGrace() || (!binding.opens && this.reveal())) return
    const ms = binding.hold?.() ?? 0
    if (ms > 0) this.startHold(e.key, ms, () => binding.run())
    else binding.run()
  }

  /** Swallows what comes in the grace period, and starts it anew. */
  private extendGrace(): boolean {
    if (this.graceLeft === 0) return false
    this.startGrace()
    return true
  }
}

/** Space and Enter belong to the button, link or box that has the focus. */
function isControlPress(e: KeyboardEvent): boolean {
  if ((e.key !== ' ' && e.key !== 'Enter') || e.ctrlKey || e.metaKey) return false
  return e.target instanceof Element && e.target.closest('button, a, summary, input, [role=tab]') !== null
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.tagName === 'TEXTAREA' || target.tagName === 'SELECT') return true
  const plain = new Set(['checkbox', 'radio', 'button', 'submit', 'reset'])
  return target instanceof HTMLInputElement && !plain.has(target.type)
}
