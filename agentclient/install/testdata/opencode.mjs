// Simulates OpenCode: loads the plugin, calls the hooks named by the lines on stdin, and provides a client like
// the SDK's that sends requests to the test server. Prints a line after each hook has returned.
import { createInterface } from 'node:readline'

const [plugin, base, bare] = process.argv.slice(2)

const post = async ({ url, path, body, headers }) => {
  const filled = url.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]))
  const response = await fetch(base + filled, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(String(response.status))
}
process.on('unhandledRejection', (reason) => {
  console.log(`unhandled: ${reason}`)
  process.exit(1)
})

const { default: hookback } = await import(plugin)
const client = bare ? {} : { _client: { post } }
const dir = process.cwd()
const hooks = await hookback.server({
  client,
  directory: dir,
  worktree: dir,
  serverUrl: new URL(base),
})
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const { hook, args } = JSON.parse(line)
  // Like OpenCode, ignore the promise of an event and await the others.
  if (hook === 'event') hooks.event(...args)
  else await hooks[hook](...args)
  console.log(`returned ${hook}`)
}
process.exit(0)
