import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
const cachePath = (name: string) =>
  fileURLToPath(new URL(`../node_modules/.cache/hookback/${name}`, import.meta.url))

/** Where the hub's program is: HOOKBACK_HUB, or built here from the tree as it is. */
export const hubBinary = process.env.HOOKBACK_HUB ?? cachePath('hub')

/** Where the agents' program is: HOOKBACK_COMMAND, or built here as well. */
export const cliBinary = process.env.HOOKBACK_COMMAND ?? cachePath('hookback')

export default function buildBinaries(): void {
  const build = (to: string, what: string) =>
    execFileSync('go', ['build', '-o', to, what], { cwd: root, stdio: 'inherit' })
  if (!process.env.HOOKBACK_HUB) build(hubBinary, './server')
  if (!process.env.HOOKBACK_COMMAND) build(cliBinary, './agentclient/cmd/hookback')
}
