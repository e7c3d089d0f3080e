/** The part of AudioContext that a chime uses. */
export type AudioOutput = Pick<
  AudioContext,
  'state' | 'currentTime' | 'destination' | 'resume' | 'createOscillator' | 'createGain'
>

const RISE = [523.25, 783.99] // a rising fifth: a new request
const FALL = [783.99, 415.3] // falling: an answer was not delivered
const NOTE_GAP = 0.16 // s between the notes
const NOTE_LENGTH = 0.5 // s
const VOLUME = 0.2

/** Two soft synthesized notes, so there is no audio file to load. */
export class Chime {
  private context: AudioOutput | undefined

  constructor(private readonly createContext: () => AudioOutput = () => new AudioContext()) {}

  /**
   * Plays the notes. Returns false if the browser blocks sound:
   * autoplay is blocked until the first click or key press on the page.
   */
  async play(event: 'asked' | 'lost' = 'asked'): Promise<boolean> {
    this.context ??= this.createContext()
    const { context } = this
    if (context.state === 'suspended') {
      // Browsers leave resume() pending until the user interacts with the page. A sound
      // that plays minutes later would be confusing.
      const timeout = new Promise<void>((done) => setTimeout(done, 200))
      await Promise.race([context.resume().catch(() => undefined), timeout])
    }
    if ((context.state as AudioContextState) !== 'running') return false
    const notes = event === 'asked' ? RISE : FALL
    notes.forEach((hertz, i) => this.playNote(context, hertz, context.currentTime + i * NOTE_GAP))
    return true
  }

  private playNote(context: AudioOutput, hertz: number, at: number): void {
    const tone = context.createOscillator()
    const gain = context.createGain()
    tone.type = 'sine'
    tone.frequency.value = hertz
    gain.gain.setValueAtTime(0, at)
    gain.gain.linearRampToValueAtTime(VOLUME, at + 0.015)
    gain.gain.exponentialRampToValueAtTime(0.0001, at + NOTE_LENGTH)
    tone.connect(gain)
    gain.connect(context.destination)
    tone.start(at)
    tone.stop(at + NOTE_LENGTH)
  }
}
