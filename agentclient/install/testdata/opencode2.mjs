// Simulates OpenCode 2: calls the plugin's setup with a context, and then the hooks or events named by the
// lines on stdin. Prints what a hook left in its event.
import { createInterface } from 'node:readline'

process.on('unhandledRejection', (reason) => {
  console.log(`unhandled: ${reason}`)
  process.exit(1)
})

const { default: plugin } = await import(process.argv[2])
const hooks = {}
const domain = (name) => ({
  hook: async (hook, callback) => {
    hooks[`${name}.${hook}`] = callback
    return { dispose: async () => {} }
  },
})
let publish
async function* subscribe({ signal }) {
  while (!signal.aborted) yield await new Promise((resolve) => (publish = resolve))
}
const cleanup = await plugin.setup({
  location: { directory: process.cwd() },
  tool: domain('tool'),
  permission: domain('permission'),
  event: { subscribe },
})
console.log('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const { hook, args } = JSON.parse(line)
  if (hook === 'event') publish(args[0])
  else if (hook === 'dispose') cleanup()
  else if (hook === 'permission.evaluate') {
    void hooks[hook](args[0]).then(() => console.log(`returned ${hook}\n${JSON.stringify(args[0])}`))
    continue
  } else await hooks[hook](args[0])
  console.log(`returned ${hook}`)
}
process.exit(0)
