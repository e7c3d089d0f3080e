import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'

/** Posts each body that it reads over a new connection, and prints the response. */
const program = `
  const { request } = require('node:http')
  require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const { n, url, body } = JSON.parse(line)
    const end = (status, text) => console.log(JSON.stringify({ n, status, text }))
    const headers = { 'Content-Type': 'application/json' }
    request(url, { method: 'POST', headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('end', () => end(response.statusCode, text)).on('error', (e) => end(0, String(e)))
    }).on('error', (e) => end(0, String(e))).end(body)
  })`

let child: ChildProcess | undefined
let posts = 0
const waiting = new Map<number, (result: { status: number; text: string }) => void>()

/** One process for all tests of a worker. It ends with the worker, which closes its input. */
function start(): ChildProcess {
  const started = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] })
  createInterface({ input: started.stdout }).on('line', (line) => {
    const { n, ...result } = JSON.parse(line) as { n: number; status: number; text: string }
    waiting.get(n)?.(result)
    waiting.delete(n)
  })
  started.once('exit', () => {
    child = undefined
    for (const fail of waiting.values()) fail({ status: 0, text: 'the other process has ended' })
    waiting.clear()
  })
  return started
}

/** Posts a body from a process other than the test's. Returns the text of the response. */
export async function postFromOtherProcess(url: string, body: string): Promise<string> {
  child ??= start()
  const n = ++posts
  const result = new Promise<{ status: number; text: string }>((ok) => waiting.set(n, ok))
  child.stdin?.write(JSON.stringify({ n, url, body }) + '\n')
  const { status, text } = await result
  if (status < 200 || status > 299) throw new Error(`${url}: ${status} ${text}`)
  return text
}
