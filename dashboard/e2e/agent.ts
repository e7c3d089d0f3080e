import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer, type WebSocket } from 'ws'
import type { HubProcess } from './hub.ts'

export interface Answer {
  permission?: boolean
  response?: string
  choice?: string
  answers?: Record<string, unknown>
  reason?: string
  comment?: string
  modifiedArguments?: unknown
  remember?: unknown
  outcome?: string
  answerId?: string
}

export interface PendingQuestion {
  id: number
  answer: Promise<Answer>
}

/** A test agent: it listens on a WebSocket, posts questions and acknowledges answers (version 2). */
export class Agent {
  private constructor(
    private readonly server: WebSocketServer,
    private readonly version: 1 | 2,
  ) {}

  static async start({ version = 2, port = 0 }: { version?: 1 | 2; port?: number } = {}): Promise<Agent> {
    const server = new WebSocketServer({ host: '127.0.0.1', port })
    await once(server, 'listening')
    return new Agent(server, version)
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port
  }

  /** Posts a question. Its answer arrives on a separate path. */
  async ask(
    hub: HubProcess,
    question: Record<string, unknown>,
    event: Record<string, unknown> = {},
  ): Promise<PendingQuestion> {
    const path = '/' + Math.random().toString(36).slice(2)
    const answer = this.listen(path)
    const id = await hub.event(
      'PermissionRequest',
      {},
      {
        ...event,
        humanInTheLoop: {
          type: 'permission',
          question: 'May I?',
          responseWebSocketUrl: `ws://127.0.0.1:${this.port}${path}`,
          ...(this.version === 2 ? { protocolVersion: 2 } : {}),
          ...question,
        },
      },
    )
    return { id, answer }
  }

  private listen(path: string): Promise<Answer> {
    return new Promise((ok) => {
      const connected = (socket: WebSocket, request: { url?: string }) => {
        if (request.url !== path) return
        socket.on('message', (data) => {
          const answer = JSON.parse(String(data)) as Answer
          if (this.version === 2) socket.send(JSON.stringify({ type: 'ack', answerId: answer.answerId }))
          else socket.close(1000)
          ok(answer)
        })
      }
      this.server.on('connection', connected)
    })
  }

  /** Stops listening and closes every connection, like an agent that exits. */
  async stop(): Promise<void> {
    for (const socket of this.server.clients) socket.terminate()
    await new Promise((done) => this.server.close(done))
  }
}
