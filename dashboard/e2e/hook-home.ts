import { spawn, type ChildProcess } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cliBinary } from './build-binaries.ts'
import type { HubProcess } from './hub.ts'

type Json = Record<string, unknown>

/** Reads a recorded hook input of an agent. */
export const sample = async (name: string): Promise<Json> =>
  JSON.parse(
    await readFile(
      fileURLToPath(new URL(`../../agentclient/hook/testdata/${name}.json`, import.meta.url)),
      'utf8',
    ),
  ) as Json

/** The exit code and output of a finished hook. */
export interface HookOutput {
  code: number | null
  stdout: string
  stderr: string
}

export interface HookRun {
  child: ChildProcess
  /** id of the request that the hook created */
  id: number
  ended: Promise<HookOutput>
}

/** A temporary home directory in which coding agents run hooks. */
export class HookHome {
  private constructor(
    readonly dir: string,
    private readonly hub: HubProcess,
  ) {}

  /** Creates the directory, with the given policy as the user's policy. */
  static async make(hub: HubProcess, policy?: Json): Promise<HookHome> {
    const dir = await mkdtemp(join(tmpdir(), 'hookback-home-'))
    await mkdir(join(dir, '.config', 'hookback'), { recursive: true })
    await mkdir(join(dir, 'project'))
    if (policy)
      await writeFile(join(dir, '.config', 'hookback', 'hookback.json'), JSON.stringify(policy, null, 2))
    return new HookHome(dir, hub)
  }

  remove(): Promise<void> {
    return rm(this.dir, { recursive: true, force: true })
  }

  /** Runs `hookback hook` with these arguments and input, in a minimal environment. */
  run(args: string[], input: Json): { child: ChildProcess; ended: Promise<HookOutput> } {
    const child = spawn(cliBinary, ['hook', ...args, '--hub', this.hub.url], {
      cwd: join(this.dir, 'project'),
      env: { PATH: process.env.PATH, HOME: this.dir },
    })
    const output: HookOutput = { code: null, stdout: '', stderr: '' }
    child.stdout.on('data', (data) => (output.stdout += String(data)))
    child.stderr.on('data', (data) => (output.stderr += String(data)))
    child.stdin.end(JSON.stringify(input))
    const ended = new Promise<HookOutput>((ok) => child.once('close', (code) => ok({ ...output, code })))
    return { child, ended }
  }

  /** Runs a hook that asks; resolves when the hub has its request. */
  async ask(args: string[], input: Json): Promise<HookRun> {
    const before = new Set(await this.pending())
    const { child, ended } = this.run(args, input)
    let finished: HookOutput | undefined
    void ended.then((output) => (finished = output))
    for (;;) {
      const id = (await this.pending()).find((id) => !before.has(id))
      if (id !== undefined) return { child, id, ended }
      if (finished) throw new Error(`${args.join(' ')} did not ask: ${JSON.stringify(finished)}`)
      await new Promise((next) => setTimeout(next, 20))
    }
  }

  private async pending(): Promise<number[]> {
    const answer = await fetch(`${this.hub.url}/events?status=pending&limit=1000`)
    return ((await answer.json()) as { id: number }[]).map((e) => e.id)
  }
}
