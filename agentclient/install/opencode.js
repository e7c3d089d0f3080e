// Connects OpenCode to Hookback: reports its events, and lets its questions be answered on the page.
//# hookback hook opencode: hookback install wrote this file, hookback uninstall takes it away.
//
// OpenCode has no deciding hook but an event bus. Each relevant event is passed to the command below as JSON
// on its stdin, and the output for a request is posted as the reply. OpenCode's own prompt stays open, and the
// first answer wins: an answer there ends the command. Nothing here throws into OpenCode or blocks it.
import { spawn } from 'node:child_process'

const COMMAND = ['hookback', 'hook', 'opencode']

const ASK_MS = 3_600_000
const OBSERVE_MS = 10_000
const MAX_OUTPUT = 1 << 20
const MAX_TEXT = 16 << 10
const MAX_QUEUE = 256 // waiting events
const MAX_CALLS = 512 // tool calls with cached arguments

/** The routes for a reply and for a rejection, by request event. */
const REPLIES = {
  'permission.asked': ['/permission/{requestID}/reply', '/permission/{requestID}/reply'],
  'question.asked': ['/question/{requestID}/reply', '/question/{requestID}/reject'],
  'permission.v2.asked': [
    '/api/session/{sessionID}/permission/{requestID}/reply',
    '/api/session/{sessionID}/permission/{requestID}/reply',
  ],
  'question.v2.asked': [
    '/api/session/{sessionID}/question/{requestID}/reply',
    '/api/session/{sessionID}/question/{requestID}/reject',
  ],
}
const ANSWERED = new Set([
  'permission.replied',
  'permission.v2.replied',
  'question.replied',
  'question.rejected',
  'question.v2.replied',
  'question.v2.rejected',
])
const OBSERVED = new Set([
  'session.created',
  'session.deleted',
  'session.idle',
  'session.error',
  'session.compacted',
])

export const Hookback = async ({ client, directory, worktree, serverUrl }) => {
  const waiting = new Map() // request id → its running command
  const calls = new Map() // call id → its tool and arguments
  const running = new Set() // all running commands
  const queue = []
  let draining = false

  /** Runs the command and resolves to its output, or to '' after any error. */
  const run = (input, limit, started) =>
    new Promise((resolve) => {
      let output = ''
      let timer
      let child
      const end = (text) => {
        clearTimeout(timer)
        running.delete(child)
        resolve(text)
      }
      try {
        const stdin = JSON.stringify({ ...input, directory, worktree })
        child = spawn(COMMAND[0], COMMAND.slice(1), {
          cwd: directory,
          stdio: ['pipe', 'pipe', 'ignore'],
          windowsHide: true,
        })
        timer = setTimeout(() => child.kill(), limit)
        timer.unref?.()
        running.add(child)
        started?.(child)
        child.on('error', () => end(''))
        child.on('close', (code) => end(code === 0 && output.length <= MAX_OUTPUT ? output : ''))
        child.stdout.setEncoding('utf8')
        child.stdout.on('data', (text) => {
          if (output.length <= MAX_OUTPUT) output += text
        })
        child.stdin.on('error', () => {}) // it exited without reading stdin
        child.stdin.end(stdin)
      } catch {
        end('')
      }
    })

  /** Sends events one at a time, so that they arrive in order and a burst starts only one process. */
  const observe = async (input) => {
    if (queue.length < MAX_QUEUE) queue.push(input)
    if (draining) return
    draining = true
    while (queue.length > 0) await run(queue.shift(), OBSERVE_MS)
    draining = false
  }

  const ask = async ({ type, properties }) => {
    const { id, sessionID } = properties
    if (typeof id !== 'string' || waiting.has(id)) return
    const callID = properties.tool?.callID ?? properties.source?.callID
    let own
    const text = await run({ type, properties, call: calls.get(callID) }, ASK_MS, (child) => {
      own = child
      waiting.set(id, child)
    })
    if (waiting.get(id) !== own) return // already answered in OpenCode
    waiting.delete(id)
    if (text.trim() === '') return // no opinion
    const reply = JSON.parse(text)
    const [replies, rejects] = REPLIES[type]
    const rejected = reply.reply === 'reject'
    if (rejected && rejects !== replies) return post(rejects, { requestID: id, sessionID })
    if (Array.isArray(reply.answers) || ['once', 'always', 'reject'].includes(reply.reply)) {
      return post(replies, { requestID: id, sessionID }, reply)
    }
  }

  /** Prefers OpenCode's own client, which may work without a network, to its server URL. */
  const post = (url, path, body) => {
    const headers = { 'Content-Type': 'application/json' }
    if (client?._client?.post) return client._client.post({ url, path, body, headers })
    const filled = url.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name]))
    return fetch(new URL(filled, serverUrl), {
      method: 'POST',
      headers,
      body: body && JSON.stringify(body),
    })
  }

  const answered = ({ requestID, permissionID }) => {
    const id = requestID ?? permissionID
    const child = waiting.get(id)
    waiting.delete(id)
    child?.kill()
  }

  const stop = () => {
    queue.length = 0
    waiting.clear()
    for (const child of running) child.kill()
  }
  process.once('exit', stop)

  const quietly = (work) => {
    try {
      void Promise.resolve(work()).catch(() => {})
    } catch {
      // errors must not reach OpenCode
    }
  }

  return {
    event: async (input) =>
      quietly(() => {
        const { event } = input
        if (Object.hasOwn(REPLIES, event.type)) return ask(event)
        if (ANSWERED.has(event.type)) return answered(event.properties)
        if (OBSERVED.has(event.type)) return observe({ type: event.type, properties: event.properties })
      }),
    'tool.execute.before': async (input, output) =>
      quietly(() => {
        const { tool, sessionID, callID } = input
        const { args } = output
        // A permission event lacks the tool's arguments. This is the object that the tool receives, so
        // it includes the changes of other plugins.
        calls.set(callID, { tool, args })
        if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value)
        return observe({
          type: 'tool.execute.before',
          properties: { tool, sessionID, callID, args: copy(args) },
        })
      }),
    'tool.execute.after': async (input, result) =>
      quietly(() => {
        const { tool, sessionID, callID, args } = input
        calls.delete(callID)
        const { title, output: text } = result ?? {}
        const output = typeof text === 'string' ? text.slice(0, MAX_TEXT) : undefined
        const properties = {
          tool,
          sessionID,
          callID,
          args: copy(args),
          title,
          output,
        }
        return observe({ type: 'tool.execute.after', properties })
      }),
    dispose: async () => {
      process.off('exit', stop)
      stop()
    },
  }
}

/** Copies the current value, because the event is sent later. */
const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
