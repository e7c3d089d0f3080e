import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { test as base } from '@playwright/test'
import { HubProcess } from '../hub.ts'

const run = promisify(execFile)

/** The folder of a checkout of the reference, whose Vue client has its packages installed. */
function checkout(): string {
  const folder = process.env.HOOKBACK_REFERENCE
  if (!folder) throw new Error('HOOKBACK_REFERENCE must name a checkout of the reference')
  return folder
}

const mediaTypes: Record<string, string> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
}

/** The reference's dashboard and hook scripts, connected to a hub of this repository. */
export class ReferenceSetup {
  private constructor(
    readonly hub: HubProcess,
    readonly pageURL: string,
    readonly folder: string,
    private readonly server: Server,
  ) {}

  static async start(): Promise<ReferenceSetup> {
    const folder = await mkdtemp(join(tmpdir(), 'hookback-reference-'))
    const page = join(folder, 'page')
    const server = createServer((request, response) => {
      const path = new URL(request.url ?? '/', 'http://page').pathname
      readFile(join(page, path === '/' ? 'index.html' : path)).then(
        (body) => {
          const type = mediaTypes[extname(path) || '.html'] ?? 'application/octet-stream'
          response.writeHead(200, { 'Content-Type': type }).end(body)
        },
        () => response.writeHead(404).end(),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const pageURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const hub = await HubProcess.start(['-allow-origin', pageURL])
    const client = join(checkout(), 'apps/client')
    await run(
      process.execPath,
      ['node_modules/vite/bin/vite.js', 'build', '--outDir', page, '--emptyOutDir'],
      {
        cwd: client,
        env: {
          ...process.env,
          VITE_API_URL: hub.url,
          VITE_WS_URL: hub.url.replace('http', 'ws') + '/stream',
        },
      },
    )
    return new ReferenceSetup(hub, pageURL, folder, server)
  }

  async stop(): Promise<void> {
    this.server.close()
    this.server.closeAllConnections()
    await this.hub.remove()
    await rm(this.folder, { recursive: true, force: true })
  }

  /** Runs send_event.py with a hook's input. Returns its error output. */
  async sendEvent(flags: string[], input: unknown): Promise<string> {
    const hooks = join(checkout(), '.claude/hooks')
    const url = ['--server-url', this.hub.url + '/events']
    return (await this.python([join(hooks, 'send_event.py'), ...flags, ...url], JSON.stringify(input))).stderr
  }

  /** Asks a question with hitl.py. Returns the answer that the script received. */
  async ask(type: string, question: string, choices?: string[]): Promise<Record<string, unknown>> {
    const program = [
      'import json, sys',
      'sys.path.insert(0, sys.argv[1])',
      'from utils.hitl import HITLRequest',
      'kind, question, choices, url = json.loads(sys.argv[2])',
      'request = HITLRequest(question, kind, choices, 60, url)',
      'session = {"source_app": "reference", "session_id": "reference-hitl"}',
      'print(json.dumps(request.send_and_wait({}, session)))',
    ].join('\n')
    const hooks = join(checkout(), '.claude/hooks')
    const args = JSON.stringify([type, question, choices ?? null, this.hub.url])
    const { stdout, stderr } = await this.python(['-c', program, hooks, args])
    const last = stdout.trim().split('\n').at(-1) ?? ''
    if (!last.startsWith('{')) throw new Error(`hitl.py received no answer: ${stdout}${stderr}`)
    return JSON.parse(last) as Record<string, unknown>
  }

  private async python(args: string[], input = ''): Promise<{ stdout: string; stderr: string }> {
    const started = run(process.env.HOOKBACK_REFERENCE_PYTHON ?? 'python3', args, {
      cwd: this.folder,
      // Without an API key, and with a home directory of its own.
      env: { PATH: process.env.PATH, HOME: this.folder, PYTHONDONTWRITEBYTECODE: '1', NO_PROXY: '*' },
    })
    started.child.stdin?.end(input)
    return started
  }
}

export const test = base.extend<{ reference: ReferenceSetup }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  reference: async ({}, use) => {
    const reference = await ReferenceSetup.start()
    await use(reference)
    await reference.stop()
  },
})
