import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Where the hub's program is: HOOKBACK_HUB, or built here from the tree as it is. */
export const program =
  process.env.HOOKBACK_HUB ?? fileURLToPath(new URL('../node_modules/.cache/hookback/hub', import.meta.url))

export default function buildHub(): void {
  if (process.env.HOOKBACK_HUB) return
  execFileSync('go', ['build', '-o', program, './server'], { cwd: root, stdio: 'inherit' })
}
