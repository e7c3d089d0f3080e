/** The pause between two polls, ms: events that arrive quickly share a response. */
const PAUSE = 100
/** The hub's own close code: the sign-in was revoked or expired. */
export const SIGNED_OUT = 4401

/** The part of a WebSocket that the stream uses. */
export interface StreamSocket {
  onmessage: ((message: MessageEvent<unknown>) => void) | null
  onclose: ((e: CloseEvent) => void) | null
  readonly readyState: number
  send(text: string): void
  close(): void
}

/** Reads the stream by long polls, for a proxy without WebSockets. It sends nothing. */
export class PollSocket implements StreamSocket {
  onmessage: StreamSocket['onmessage'] = null
  onclose: StreamSocket['onclose'] = null
  /** Never open for sending. */
  readonly readyState = WebSocket.CONNECTING
  private readonly ending = new AbortController()

  /** path returns the address of the next poll, after what was received so far. */
  constructor(private readonly path: () => string) {
    void this.run()
  }

  send(): void {}

  close(): void {
    this.ending.abort()
  }

  private async run(): Promise<void> {
    const { signal } = this.ending
    let code = 1006
    try {
      while (!signal.aborted) {
        const response = await fetch(this.path(), { signal, cache: 'no-store' })
        if (!response.ok) {
          code = response.status === 401 ? SIGNED_OUT : code
          break
        }
        const data = await response.text()
        if (!signal.aborted) this.onmessage?.(new MessageEvent('message', { data }))
        await new Promise((resume) => setTimeout(resume, PAUSE))
      }
    } catch {
      // reported below, like a socket that breaks
    }
    if (!signal.aborted) this.onclose?.(new CloseEvent('close', { code }))
  }
}
