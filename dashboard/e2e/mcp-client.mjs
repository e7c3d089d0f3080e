// Runs the official JavaScript client of the Model Context Protocol in a separate process.
// Usage: node mcp-client.mjs URL, or node mcp-client.mjs -- COMMAND …
// It asks a question, waits with progress, and prints each result as one line of JSON.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [target, ...rest] = process.argv.slice(2)
const transport =
  target === '--'
    ? new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: { HOME: '/proc/nonexistent' } })
    : new StreamableHTTPClientTransport(new URL(target))
const print = (value) => process.stdout.write(JSON.stringify(value) + '\n')

const client = new Client({ name: 'outsider', version: '1.0.0' })
await client.connect(transport)
const { tools } = await client.listTools()
print({ tools: tools.map((tool) => tool.name).sort() })
const asked = await client.callTool({
  name: 'ask_human',
  arguments: { question: 'Which region?', choices: ['eu', 'us'] },
})
print({ asked: asked.structuredContent.status })
const { request_id, secret } = asked.structuredContent
const answered = await client.callTool(
  { name: 'await_hitl_request', arguments: { request_id, secret, max_wait_seconds: 50 } },
  { onprogress: (progress) => print({ progress: progress.message }) },
)
print({ outcome: answered.structuredContent.outcome, comment: answered.structuredContent.comment })
const vote = await client.callTool({
  name: 'vote_on_hitl_request',
  arguments: { request_id, choice: 'us' },
})
print({ refused: vote.isError, why: vote.content[0].text })
await client.close()
