// Joins OpenCode to Hookback: what OpenCode does is told, what it asks can be answered on the page.
//# hookback hook opencode: hookback install wrote this file, hookback uninstall takes it away.
//
// OpenCode has no hook that decides, but a bus of events. Each one that matters is given to the command
// below, as JSON on its stdin; what it prints for a request is posted as the reply. OpenCode's own prompt
// stays open meanwhile and the first answer wins: when it is answered there, the command is ended.
// Nothing here throws into OpenCode or holds it up.
import { spawn } from 'node:child_process'

const COMMAND = ['hookback', 'hook', 'opencode']

const ASK_MS = 3_600_000
const TELL_MS = 10_000
const MAX_OUTPUT = 1 << 20
const MAX_TEXT = 16 << 10
const MAX_QUEUE = 256 // events that wait to be told
const MAX_CALLS = 512 // tool calls whose arguments are remembered

/** Where the reply to a request is posted, and where a rejection of a question. */
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
const TOLD = new Set([
  'session.created',
  'session.deleted',
  'session.idle',
  'session.error',
  'session.compacted',
])

export const Hookback = async ({ client, directory, worktree, serverUrl }) => {
  const waiting = new Map() // :: id of a request → the command that asks it
  const calls = new Map() // :: id of a call → its tool and arguments
  const running = new Set() // commands
  const queue = []
  let telling = false

  /** Runs the command and resolves to what it prints: '' when anything goes wrong. */
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
        child.stdin.on('error', () => {}) // it ended without reading
        child.stdin.end(stdin)
      } catch {
        end('')
      }
    })

  /** One after the other: events arrive in order, and a burst starts no crowd of processes. */
  const tell = async (input) => {
    if (queue.length < MAX_QUEUE) queue.push(input)
    if (telling) return
    telling = true
    while (queue.length > 0) await run(queue.shift(), TELL_MS)
    telling = false
  }

  const ask = async ({ type, properties }) => {
    const { id, sessionID } = properties
    if (typeof id !== 'string' || waiting.has(id)) return
    const callID = properties.tool?.callID ?? properties.source?.callID
    let mine
    const text = await run({ type, properties, call: calls.get(callID) }, ASK_MS, (child) => {
      mine = child
      waiting.set(id, child)
    })
    if (waiting.get(id) !== mine) return // answered in OpenCode
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

  /** OpenCode's own client may have no network below it; only without one is its address taken. */
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
      // OpenCode goes on
    }
  }

  return {
    event: async (input) =>
      quietly(() => {
        const { event } = input
        if (Object.hasOwn(REPLIES, event.type)) return ask(event)
        if (ANSWERED.has(event.type)) return answered(event.properties)
        if (TOLD.has(event.type)) return tell({ type: event.type, properties: event.properties })
      }),
    'tool.execute.before': async (input, output) =>
      quietly(() => {
        const { tool, sessionID, callID } = input
        const { args } = output
        // A permission doesn't say what the tool was called with. This is the object that the tool will
        // get, so what other plugins change in it shows, too.
        calls.set(callID, { tool, args })
        if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value)
        return tell({
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
        return tell({ type: 'tool.execute.after', properties })
      }),
    dispose: async () => {
      process.off('exit', stop)
      stop()
    },
  }
}

/** As it is now: the event is told later. */
const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
