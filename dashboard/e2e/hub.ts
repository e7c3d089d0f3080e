import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { hubBinary } from './build-binaries.ts'
import { postFromOtherProcess } from './other-process.ts'

type Json = Record<string, unknown>

/** A hub process on a free port with its own database. */
export class HubProcess {
  url = ''
  /** The sign-in link of the future owner; empty once the hub has an owner. */
  signInLink = ''
  private child: ChildProcess | undefined
  private ended: Promise<unknown> = Promise.resolve()

  private constructor(
    private readonly dir: string,
    private readonly flags: string[],
    private readonly env: Record<string, string>,
  ) {}

  static async start(flags: string[] = [], env: Record<string, string> = {}): Promise<HubProcess> {
    const hub = new HubProcess(await mkdtemp(join(tmpdir(), 'hookback-e2e-')), flags, env)
    await hub.start('127.0.0.1:0')
    return hub
  }

  private async start(addr: string): Promise<void> {
    await this.ended // two processes cannot share a database
    const paths = ['-addr', addr, '-db', join(this.dir, 'hub.db'), '-socket', 'off']
    const flags = [...paths, '-notify-allow', '127.0.0.1', ...this.flags]
    const child = spawn(hubBinary, flags, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, HOME: this.dir, ...this.env }, // the hub reads the settings of agents in its home
    })
    this.child = child
    this.signInLink = ''
    const output: string[] = []
    const lines = [child.stdout, child.stderr].map((input) => createInterface({ input }))
    this.url = await new Promise<string>((ok, no) => {
      child.once('exit', (code) => no(new Error(`the hub ended with ${code}:\n${output.join('\n')}`)))
      for (const from of lines) {
        from.on('line', (line) => {
          output.push(line)
          const found = /Dashboard\s+http:\/\/localhost:(\d+)/.exec(line)
          if (found?.[1]) this.url = `http://127.0.0.1:${found[1]}`
          this.readSignInLink(line)
          if (/Ctrl-C/.test(line)) ok(this.url)
        })
      }
    })
    // The hub prints the link only to a terminal, else it writes it to a file next to the database.
    const file = await readFile(join(this.dir, 'sign-in-link'), 'utf8').catch(() => '')
    this.readSignInLink(file)
  }

  /** Keeps the sign-in link in a text, at the address of the tests: a sign-in is valid for one. */
  private readSignInLink(text: string): void {
    const [link] = /\/#sign-in=\S+/.exec(text) ?? []
    if (link) this.signInLink = this.url + link
  }

  /** Stops the hub with SIGTERM. */
  async stop(): Promise<void> {
    await this.end('SIGTERM')
  }

  /** Starts the hub again on the same address and database. */
  async restart(): Promise<void> {
    await this.start(new URL(this.url).host)
  }

  /** Copies the files of the stopped hub. Returns a function that puts the copy back. */
  async copyDatabase(): Promise<() => Promise<void>> {
    await this.ended
    const copy = join(this.dir, 'copy')
    const files = (await readdir(this.dir)).filter((name) => name.startsWith('hub.db'))
    for (const name of files) await cp(join(this.dir, name), join(copy, name), { recursive: true })
    return async () => {
      await this.ended
      for (const name of await readdir(this.dir))
        if (name.startsWith('hub.db')) await rm(join(this.dir, name), { recursive: true })
      await cp(copy, this.dir, { recursive: true })
    }
  }

  async remove(): Promise<void> {
    await this.end('SIGKILL')
    await rm(this.dir, { recursive: true, force: true })
  }

  private async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.child
    this.child = undefined
    if (!child || child.exitCode !== null) return
    this.ended = once(child, 'exit')
    child.kill(signal)
    await this.ended
  }

  async post(path: string, body: unknown): Promise<Json> {
    const response = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as Json
  }

  /**
   * Returns the same hub, but each post comes from a separate process, like an agent's. The hub
   * lets neither a requester nor a browser that it started create rules, or answer while the hub is
   * locked, and the test process started the browser.
   */
  fromOtherProcess(): HubProcess {
    return this.postWith(postFromOtherProcess)
  }

  /**
   * Returns the same hub, but each post comes from a hook that a separate process runs, like an
   * agent's. The hub takes the program that ran a hook for the requester.
   */
  fromAgentProcess(): HubProcess {
    const run = `require('node:child_process').execFileSync(process.execPath, process.argv.slice(1), { stdio: 'inherit' })`
    const program = `fetch(process.argv[1], { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: process.argv[2] })
      .then(async (r) => { console.log(await r.text()); process.exitCode = r.ok ? 0 : 1 })`
    return this.postWith(async (url, body) => {
      const command = ['-e', run, '--', '-e', program, url, body]
      return (await promisify(execFile)(process.execPath, command)).stdout
    })
  }

  private postWith(post: (url: string, body: string) => Promise<string>): HubProcess {
    return Object.assign(Object.create(this) as HubProcess, {
      post: async (path: string, body: unknown) =>
        JSON.parse(await post(this.url + path, JSON.stringify(body))) as Json,
    })
  }

  /** Posts one event. Returns its id. */
  async event(type: string, payload: Json = {}, extra: Json = {}): Promise<number> {
    const event = { source_app: 'api', session_id: 's1', hook_event_type: type, payload, ...extra }
    return (await this.post('/events', event)).id as number
  }

  /** Posts n events in one batch. */
  async batch(n: number, make: (i: number) => Json): Promise<void> {
    const events = Array.from({ length: n }, (_, i) => ({
      source_app: 'api',
      session_id: 's1',
      hook_event_type: 'PreToolUse',
      payload: {},
      ...make(i),
    }))
    await this.post('/events/batch', events)
  }
}
