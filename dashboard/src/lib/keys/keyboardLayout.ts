const modifiers = /^(Shift|Control|Alt|AltGraph|Meta|CapsLock)$/

export const onApple = (): boolean => /Mac|iPhone|iPad/.test(navigator.userAgent)

/** Translates key events of any keyboard layout to the notation of bindings. */
export class KeyboardLayout {
  private latin = true

  /**
   * The presses that an event may stand for, such as "a", "Shift+D", "?" or "$mod+Enter"; the
   * typed one first. Digits and the letters of an alphabet that is not Latin also count by
   * their place: "&" is 1 in France, "ф" is A in Russia. Shift matters to letters and named
   * keys only, because "/" and "1" need it on some keyboards. With Alt a key has no press.
   */
  presses(e: KeyboardEvent): string[] {
    const [mod, other] = onApple() ? [e.metaKey, e.ctrlKey] : [e.ctrlKey, e.metaKey]
    if (other || e.altKey || e.getModifierState('AltGraph') || modifiers.test(e.key)) return []
    const key = e.key === ' ' ? 'Space' : e.key
    const named = /^\w{2,}$/.test(key)
    const letter = (l: string) => (e.shiftKey ? 'Shift+' + l.toUpperCase() : l.toLowerCase())
    const found = [named && e.shiftKey ? 'Shift+' + key : /^[a-z]$/i.test(key) ? letter(key) : key]

    const [, digit] = /^(?:Digit|Numpad)(\d)$/.exec(e.code) ?? []
    // On some layouts the key of a digit is a dead key; without Num Lock it moves the cursor.
    if (digit && !/^\d$/.test(key) && (!named || key === 'Dead')) found.push(digit)
    const [, place] = /^Key([A-Z])$/.exec(e.code) ?? []
    if (place && !named) {
      // Greek and Hebrew keyboards have punctuation on keys of letters, so the last letter counts.
      if (/\p{L}/u.test(key)) this.latin = /\p{Script=Latin}/u.test(key)
      if (!this.latin) found.push(letter(place))
    }
    return mod ? found.map((press) => '$mod+' + press) : found
  }
}
