import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cachePath = (name: string) =>
  fileURLToPath(new URL(`../node_modules/.cache/hookback/${name}`, import.meta.url))

// The tests, and the programs that they start, get nothing that a person has set for Hookback.
for (const name of Object.keys(process.env))
  if (/^HOOKBACK_(?!HUB$|REFERENCE|SEEDS$)/.test(name)) Reflect.deleteProperty(process.env, name)

/** The path of the hub's binary: HOOKBACK_HUB, or a build of the working tree. */
export const hubBinary = process.env.HOOKBACK_HUB ?? cachePath('hub')

/**
 * The path of the hookback command: a build of the working tree that finds the account's files
 * in HOME, so that no test reads or writes the real ones.
 */
export const cliBinary = cachePath('hookback')

export default function buildBinaries(): void {
  // The flags of make build, which has compiled the same packages with them.
  const build = (to: string, what: string, ldflags = '') =>
    execFileSync('go', ['build', '-trimpath', `-ldflags=-s -w ${ldflags}`, '-o', to, what], {
      cwd: root,
      stdio: 'inherit',
      env: { ...process.env, CGO_ENABLED: '0' },
    })
  if (!process.env.HOOKBACK_HUB) build(hubBinary, './server')
  build(
    cliBinary,
    './agentclient/cmd/hookback',
    '-X github.com/hookback/hookback/agentclient/internal/cli.TestHome=HOME',
  )
}
