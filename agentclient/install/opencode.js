// Connects OpenCode to Hookback: reports its events, and lets its questions be answered on the page.
//# hookback hook opencode: hookback install wrote this file, hookback uninstall takes it away.
//
// Each relevant event is passed to the command below as JSON on its stdin. OpenCode 1 calls server(). It has no
// deciding hook but an event bus: the output for a request is posted as the reply. Its own prompt stays open, and
// the first answer wins: an answer there ends the command. OpenCode 2 calls setup(). It waits for the hook of its
// permissions, also of calls that its rules allow. Nothing here throws into OpenCode.
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

const quietly = (work) => {
  try {
    void Promise.resolve(work()).catch(() => {})
  } catch {
    // errors must not reach OpenCode
  }
}

/** What both versions of OpenCode need: runs the command, and remembers the arguments of calls. */
const connect = (directory, worktree) => {
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

  /** A permission lacks the tool's arguments. args is the object that the tool receives, so it includes the
   * changes of other plugins. */
  const remember = (callID, tool, args) => {
    calls.set(callID, { tool, args })
    if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value)
  }

  const finished = (callID, properties, output) => {
    calls.delete(callID)
    properties.output = typeof output === 'string' ? output.slice(0, MAX_TEXT) : undefined
    return observe({ type: 'tool.execute.after', properties })
  }

  const stop = () => {
    queue.length = 0
    for (const child of running) child.kill()
  }
  process.once('exit', stop)
  const dispose = () => {
    process.off('exit', stop)
    stop()
  }
  return { calls, run, observe, remember, finished, dispose }
}

const server = async ({ client, directory, worktree, serverUrl }) => {
  const { calls, run, observe, remember, finished, dispose } = connect(directory, worktree)
  const waiting = new Map() // request id → its running command

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
        remember(callID, tool, args)
        return observe({
          type: 'tool.execute.before',
          properties: { tool, sessionID, callID, args: copy(args) },
        })
      }),
    'tool.execute.after': async (input, result) =>
      quietly(() => {
        const { tool, sessionID, callID, args } = input
        const { title, output } = result ?? {}
        return finished(callID, { tool, sessionID, callID, args: copy(args), title }, output)
      }),
    dispose: async () => {
      waiting.clear()
      dispose()
    },
  }
}

const setup = async (context) => {
  const directory = context.location?.directory ?? process.cwd()
  const { calls, run, observe, remember, finished, dispose } = connect(directory, directory)
  const ended = new AbortController()

  await context.tool.hook('execute.before', (event) =>
    quietly(() => remember(event.id, event.tool, event.input)),
  )
  await context.tool.hook('execute.after', (event) =>
    quietly(() => {
      const { tool, sessionID, id: callID, input, status, result, error } = event
      const properties = { tool, sessionID, callID, args: copy(input), status, error: error?.message }
      return finished(callID, properties, result?.output)
    }),
  )
  await context.permission.hook('evaluate', async (evaluation) => {
    try {
      const { sessionID, agent, action, resources, metadata, source, effect } = evaluation
      const properties = { sessionID, agent, action, resources, metadata, source, effect }
      const input = { type: 'permission.evaluate', properties, call: calls.get(source?.id) }
      const text = ended.signal.aborted ? '' : await run(input, ASK_MS)
      if (text.trim() === '') {
        // no opinion, unless the command was stopped before it had one
        if (ended.signal.aborted && effect === 'allow') evaluation.effect = 'ask'
        return
      }
      const verdict = JSON.parse(text)
      if (!['allow', 'ask', 'deny'].includes(verdict.effect)) return
      evaluation.effect = verdict.effect
      if (typeof verdict.message === 'string') evaluation.message = verdict.message
    } catch {
      // as without a hook
    }
  })
  quietly(async () => {
    for await (const { type, data } of context.event.subscribe({ signal: ended.signal }))
      if (OBSERVED.has(type)) void observe({ type, properties: data })
  })
  return () => {
    ended.abort()
    dispose()
  }
}

export default { id: 'hookback', server, setup }

/** Copies the current value, because the event is sent later. */
const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
