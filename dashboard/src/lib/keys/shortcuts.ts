import { KeyboardLayout } from './keyboardLayout'

/** A shortcut and its action. */
export interface Binding {
  /** Such as "a", "Shift+D", "$mod+Enter" (⌘ or Ctrl), or "g i", one after the other. */
  keys: string
  run(): void
  /** The description, if text.ts has none. */
  description?: string
  /** It decides a request, so the grace period and the other safeguards apply. */
  decides?: boolean
  /** It only opens a form, so the request need not be visible. */
  opens?: boolean
  /** It must be held down for HOLD. */
  hold?: boolean
  /** It also works in a focused text field, such as Ctrl+Enter. */
  inFields?: boolean
  /** It also works in the text field that this CSS selector matches, while that is empty. */
  emptyField?: string
}

/** The shortcuts of one part of the page. */
export interface Scope {
  bindings(): Binding[]
  /** It blocks all scopes below, like a dialog. */
  modal?: boolean
}

/** The browser APIs it uses, replaceable in tests. */
export interface ShortcutEnvironment {
  now(): number
  hasFocus(): boolean
  enabled(): boolean
  /** Calls fn once what the page shows now is on the screen. */
  painted(fn: () => void): void
}

export const GRACE = 500
/** Press-and-hold time of a risky decision, ms. */
export const HOLD = 700
export const CLICK_GUARD = 250
/** Time between the presses of a sequence, ms. */
const SEQUENCE = 1000

export const browser: ShortcutEnvironment = {
  now: () => performance.now(),
  hasFocus: () => document.hasFocus(),
  enabled: () => true,
  // Frames are painted after their callbacks.
  painted: (fn) => requestAnimationFrame(() => setTimeout(fn)),
}

/**
 * Dispatches shortcuts, and keeps single keys from deciding by accident.
 *
 * After the selected request changes without the person's action, deciding shortcuts are
 * blocked for a grace period: until 500 ms after the new request is on the screen. Every key press
 * in that time restarts it. No shortcut
 * acts while the page lacks the focus, while a text field has it, or on key repeat. If the
 * request is out of sight, the first press scrolls to it. Risky decisions need
 * press-and-hold. A click that focuses the window decides nothing.
 */
export class ShortcutDispatcher {
  private readonly scopes: Scope[] = []
  private readonly layout = new KeyboardLayout()
  /** The press that started a sequence, such as the "g" of "g i". */
  private started: string | undefined
  private startedUntil = -Infinity
  private graceUntil = -Infinity
  /** The person did not select the request. */
  private automatic = false
  /** Counts starts and ends, so that a late frame changes nothing. */
  private graces = 0
  private focusedAt = -Infinity
  private guardedPress = false
  private activeHold: { key: string | undefined; stop(): void } | undefined

  /** Scrolls to the request. Returns false if it was visible already. */
  reveal: () => boolean = () => false
  /** Called with true when a hold starts, and with false when it ends. */
  onHold: (active: boolean) => void = () => undefined

  constructor(private readonly world: ShortcutEnvironment) {}

  /** Listens to the window. Returns a stop function. */
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

  /** Adds a scope on top. Returns a function that removes it. */
  push(scope: Scope): () => void {
    this.scopes.push(scope)
    // A dialog ends a half-typed sequence. Another part of the page may appear by itself within one.
    if (scope.modal) this.started = undefined
    return () => {
      this.scopes.splice(this.scopes.indexOf(scope), 1)
      if (scope.modal) this.started = undefined
      this.cancelHold()
    }
  }

  /** Starts the grace period: the selected request changed without the person's action. */
  startGrace(): void {
    const started = ++this.graces
    this.automatic = true
    this.graceUntil = Infinity
    this.world.painted(() => {
      if (started === this.graces) this.graceUntil = this.world.now() + GRACE
    })
    this.cancelHold()
  }

  /** The answers of the selected request have just appeared: a grace period starts only now. */
  appeared(): void {
    if (this.automatic) this.startGrace()
  }

  /** Ends the grace period: the person selected a request. */
  endGrace(): void {
    this.graces++
    this.automatic = false
    this.graceUntil = -Infinity
    this.cancelHold()
  }

  /** Returns the active bindings, starting with the topmost scope. */
  active(): Binding[] {
    const modal = this.scopes.findLastIndex((scope) => scope.modal)
    return this.scopes
      .slice(Math.max(0, modal))
      .reverse()
      .flatMap((scope) => scope.bindings())
  }

  /** Time left in the grace period, ms. */
  get graceLeft(): number {
    return Math.max(0, this.graceUntil - this.world.now())
  }

  /**
   * Whether a click may decide now. The grace period applies to clicks, too: the second click
   * of a double click must not answer the next request.
   */
  allowsClick(): boolean {
    if (this.guardedPress) return false
    return !this.extendGrace()
  }

  windowFocused(): void {
    this.focusedAt = this.world.now()
  }

  /** A pointer was pressed anywhere. */
  pointerPressed(): void {
    this.guardedPress = this.world.now() - this.focusedAt < CLICK_GUARD
  }

  keyup(e: KeyboardEvent): void {
    if (this.activeHold?.key === heldKey(e)) this.cancelHold()
  }

  /** Cancels an incomplete hold. */
  cancelHold(): void {
    this.activeHold?.stop()
    this.activeHold = undefined
  }

  /** Starts a hold of a key, or of the pointer; run is called when it has lasted HOLD. */
  startHold(e: KeyboardEvent | undefined, run: () => void): void {
    this.cancelHold()
    const timer = setTimeout(() => {
      this.cancelHold()
      run()
    }, HOLD)
    this.onHold(true)
    this.activeHold = {
      key: e && heldKey(e),
      stop: () => {
        clearTimeout(timer)
        this.onHold(false)
      },
    }
  }

  keydown(e: KeyboardEvent): void {
    if (e.repeat || e.defaultPrevented || e.isComposing || !this.world.hasFocus()) return
    if (isControlPress(e)) return
    let presses = this.layout.presses(e)
    if (presses.length === 0) return
    const field = isTextField(e.target)
    const modified = e.ctrlKey || e.metaKey
    // There a key is the character that it types.
    if (field && !modified) presses = presses.slice(0, 1)
    const active = this.active().filter(
      (b) =>
        (!field || b.inFields || isEmptyField(e.target, b.emptyField)) &&
        (modified || b.inFields || this.world.enabled()),
    )
    const started = this.world.now() < this.startedUntil ? this.started : undefined
    this.started = undefined
    for (const press of presses) {
      const binding =
        active.find((b) => started && b.keys === `${started} ${press}`) ??
        active.find((b) => b.keys === press)
      if (binding) return this.trigger(binding, e)
      if (!active.some((b) => b.keys.startsWith(press + ' '))) continue
      this.started = press
      this.startedUntil = this.world.now() + SEQUENCE
      return
    }
  }

  private trigger(binding: Binding, e: KeyboardEvent): void {
    e.preventDefault()
    if (!binding.decides) return binding.run()
    if (this.extendGrace() || (!binding.opens && this.reveal())) return
    if (binding.hold) this.startHold(e, () => binding.run())
    else binding.run()
  }

  /** Restarts the grace period if it is running. Returns whether it is. */
  private extendGrace(): boolean {
    if (this.graceLeft === 0) return false
    this.startGrace()
    return true
  }
}

/** By its place: the character changes if Shift is released first. */
const heldKey = (e: KeyboardEvent): string => e.code || e.key.toLowerCase()

/** Whether the key activates the focused control: Space and Enter do. */
function isControlPress(e: KeyboardEvent): boolean {
  if ((e.key !== ' ' && e.key !== 'Enter') || e.ctrlKey || e.metaKey) return false
  return e.target instanceof Element && e.target.closest('button, a, summary, input, [role=tab]') !== null
}

function isEmptyField(target: EventTarget | null, selector: string | undefined): boolean {
  if (!selector || !(target instanceof HTMLTextAreaElement)) return false
  return target.matches(selector) && target.value === ''
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  if (target.isContentEditable || target.tagName === 'TEXTAREA' || target.tagName === 'SELECT') return true
  const plain = new Set(['checkbox', 'radio', 'button', 'submit', 'reset'])
  return target instanceof HTMLInputElement && !plain.has(target.type)
}
