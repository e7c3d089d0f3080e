import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from './fixtures.ts'

interface Message {
  message_id: number
  text: string
  buttons: Record<string, string>
}
type Update = Record<string, unknown> & { update_id: number }

/** A Bot API for one bot and one private chat, whose number is that of its account. */
export class Telegram {
  static readonly token = '123456:ABCdefGHIjklMNOpqrSTUvwxYZ123456789'
  static readonly account = 1001
  readonly messages: Message[] = []
  private readonly server = createServer((request, response) => void this.serve(request, response))
  private updates: Update[] = []
  private last = 0
  private arrived: () => void = () => undefined
  private named: Promise<void> = Promise.resolve()

  static async start(): Promise<Telegram> {
    const telegram = new Telegram()
    telegram.server.listen(0, '127.0.0.1')
    await once(telegram.server, 'listening')
    return telegram
  }

  /** The address of the channel that sends to the chat. */
  get channel(): string {
    const { port } = this.server.address() as AddressInfo
    return `telegram://${Telegram.token}@127.0.0.1:${port}?chats=${Telegram.account}`
  }

  /** Keeps the bot's name back until the returned function is called. */
  holdName(): () => void {
    let send: () => void = () => undefined
    this.named = new Promise((resolve) => (send = resolve))
    return send
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }

  /** Sends a text in the private chat. */
  say(text: string): void {
    this.push({ message: { message_id: Date.now(), from: this.person, chat: this.chat, text } })
  }

  /** Waits for a button of the newest message and presses it. */
  async press(label: string): Promise<void> {
    await expect.poll(() => this.messages.at(-1)?.buttons[label]).toBeTruthy()
    const { message_id, buttons } = this.messages.at(-1)!
    const message = { message_id, chat: this.chat }
    this.push({
      callback_query: { id: String(Date.now()), from: this.person, data: buttons[label], message },
    })
  }

  private readonly person = { id: Telegram.account, is_bot: false, first_name: 'Mara', username: 'mara_t' }
  private readonly chat = { id: Telegram.account, type: 'private' }

  private push(update: Record<string, unknown>): void {
    this.updates.push({ ...update, update_id: ++this.last })
    this.arrived()
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const piece of request) body += String(piece)
    const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(decodeURIComponent(request.url ?? '')) ?? []
    const ok = token === Telegram.token
    const result = ok ? await this.call(method ?? '', JSON.parse(body), response) : undefined
    response.writeHead(ok ? 200 : 401, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(ok ? { ok, result } : { ok, error_code: 401, description: 'Unauthorized' }))
  }

  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the parameters of every method
  private async call(method: string, params: any, response: ServerResponse): Promise<unknown> {
    switch (method) {
      case 'getMe':
        await this.named
        return { id: 123456, is_bot: true, first_name: 'Hookback', username: 'hookback_test_bot' }
      case 'getUpdates':
        this.updates = this.updates.filter((u) => u.update_id >= params.offset)
        if (this.updates.length === 0)
          await new Promise<void>((arrived) => {
            this.arrived = arrived
            response.once('close', arrived)
          })
        return this.updates
      case 'sendMessage': {
        const keys = (params.reply_markup?.inline_keyboard ?? []).flat() as {
          text: string
          callback_data: string
        }[]
        const buttons = Object.fromEntries(keys.map((key) => [key.text, key.callback_data]))
        this.messages.push({ message_id: this.messages.length + 1, text: params.text, buttons })
        return { message_id: this.messages.length, chat: this.chat }
      }
      case 'editMessageText': {
        const message = this.messages[params.message_id - 1]
        if (message) Object.assign(message, { text: params.text, buttons: {} })
        return true
      }
      default:
        return true
    }
  }
}
