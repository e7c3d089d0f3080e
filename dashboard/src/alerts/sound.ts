/** What a chime needs of an AudioContext. */
export type AudioOutput = Pick<
  AudioContext,
  'state' | 'currentTime' | 'destination' | 'resume' | 'createOscillator' | 'createGain'
>

const RISE = [523.25, 783.99] // a fifth up: a question
const FALL = [783.99, 415.3] // down: an answer got lost
const NOTE = 0.16
const LENGTH = 0.5

/** Two soft notes, made here: no file to load. */
export class Chime {
  private context: AudioOutput | undefined

  constructor(private readonly createContext: () => AudioOutput = () => new AudioContext()) {}

  /**
   * Plays it, 0 to 1 loud. False where the browser does not let it: before the
   * first click or key on the page, it stays silent.
   */
  async play(volume: number, which: 'asked' | 'lost' = 'asked'): Promise<boolean> {
    this.context ??= this.createContext()
    const { context } = this
    if (context.state === 'suspended') {
      // Browsers leave resume() pending until the person acts: do not wait for that,
      // or the sound comes when nobody knows any more what for.
      const soon = new Promise<void>((done) => setTimeout(done, 200))
      await Promise.race([context.resume().catch(() => undefined), soon])
    }
    if ((context.state as AudioContextState) !== 'running') return false
    const notes = which === 'asked' ? RISE : FALL
    notes.forEach((hertz, i) => this.playNote(context, hertz, context.currentTime + i * NOTE, volume))
    return true
  }

  private playNote(context: AudioOutput, hertz: number, at: number, volume: number): void {
    const tone = context.createOscillator()
    const gain = context.createGain()
    tone.type = 'sine'
    tone.frequency.value = hertz
    gain.gain.setValueAtTime(0, at)
    gain.gain.linearRampToValueAtTime(0.35 * volume, at + 0.015)
    gain.gain.exponentialRampToValueAtTime(0.0001, at + LENGTH)
    tone.connect(gain)
    gain.connect(context.destination)
    tone.start(at)
    tone.stop(at + LENGTH)
  }
}
