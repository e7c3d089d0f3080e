import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** A mail server with the subset of SMTP that the hub uses. */
export class Mailbox {
  private readonly messages: { to: string; text: string }[] = []
  private readonly waiting = new Set<() => void>()

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => this.serve(socket))
  }

  static async open(): Promise<Mailbox> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new Mailbox(server)
  }

  /** The URL of a channel that sends each person's mail to this server. */
  get channel(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}/?from=hub@example.com`
  }

  /** Resolves with the text of the first message to an address. */
  async to(address: string): Promise<string> {
    for (;;) {
      const message = this.messages.find((l) => l.to === address)
      if (message) return message.text
      await new Promise<void>((ok) => this.waiting.add(ok))
    }
  }

  close(): void {
    this.server.close()
  }

  private serve(socket: Socket): void {
    let [rest, to, body] = ['', '', undefined as string[] | undefined]
    const reply = (line: string) => socket.write(line + '\r\n')
    const line = (text: string) => {
      if (body && text !== '.') return void body.push(text.replace(/^\.\./, '.'))
      if (body) {
        this.messages.push({ to, text: decodeQuotedPrintable(body.join('\n')) })
        body = undefined
        for (const fn of this.waiting) fn()
        this.waiting.clear()
        return reply('250 accepted')
      }
      const [, recipient] = /^RCPT TO:<([^>]+)>/i.exec(text) ?? []
      to = recipient ?? to
      if (/^DATA/i.test(text)) body = []
      reply(body ? '354 go on' : /^QUIT/i.test(text) ? '221 bye' : '250 fine')
    }
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      const lines = (rest + String(data)).split('\r\n')
      rest = lines.pop() ?? ''
      lines.forEach(line)
    })
    reply('220 mailbox')
  }
}

/** Decodes quoted-printable. */
const decodeQuotedPrintable = (text: string): string =>
  text
    .replace(/=\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
