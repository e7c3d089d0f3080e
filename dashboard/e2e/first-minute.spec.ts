import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cliBinary, hubBinary } from './build-binaries.ts'
import { expect, test, waitUntilLive } from './fixtures.ts'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((closed) => server.close(closed))
  return port
}

/** A person at a terminal of a new account, whose browser is the page of the test. */
class Terminal {
  output = ''
  private readonly children: ChildProcess[] = []
  private constructor(
    readonly home: string,
    private readonly port: number,
  ) {}

  static async open(): Promise<Terminal> {
    const home = await mkdtemp(join(tmpdir(), 'hookback-minute-'))
    await writeFile(join(home, 'browser'), '#!/bin/sh\necho "$1" >> "$0.log"\n')
    await chmod(join(home, 'browser'), 0o700)
    return new Terminal(home, await freePort())
  }

  /** Runs hookback up in a terminal. */
  up(...flags: string[]): void {
    const own = {
      ...{ HOME: this.home, XDG_STATE_HOME: '', XDG_CONFIG_HOME: '', XDG_RUNTIME_DIR: this.home },
      ...{ BROWSER: join(this.home, 'browser'), HOOKBACK_SERVER: hubBinary, HOOKBACK_URL: '' },
      ...{ HOOKBACK_DB: join(this.home, 'hub.db'), HOOKBACK_SOCKET: 'off' },
    }
    const command = [cliBinary, 'up', '--name', 'ada', '--port', String(this.port), ...flags]
    const child = spawn('script', ['-qefc', command.join(' '), '/dev/null'], {
      env: { ...process.env, ...own },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdout.on('data', (data) => (this.output += String(data)))
    this.children.push(child)
  }

  /** Waits for the nth address that the browser was started with. */
  async address(n: number): Promise<string> {
    let found: string | undefined
    await expect(async () => {
      const log = await readFile(join(this.home, 'browser.log'), 'utf8').catch(() => '')
      found = log.split('\n')[n]
      expect(found, this.output).toBeTruthy()
    }).toPass({ timeout: 60_000 })
    return found ?? ''
  }

  async close(): Promise<void> {
    for (const child of this.children.reverse()) {
      if (child.exitCode !== null) continue
      child.stdin?.write('\x03') // Ctrl-C
      await once(child, 'exit')
    }
    await rm(this.home, { recursive: true, force: true })
  }
}

test.describe('First minute', () => {
  test('one command and one key lead to an approved request with every tick', async ({ page }) => {
    const terminal = await Terminal.open()
    try {
      terminal.up()
      await page.goto(await terminal.address(0)) // the browser opens it: not a step of the person
      await waitUntilLive(page)
      await expect(page.getByTestId('hub-claimed')).toContainText('You own this hub as ada')
      const card = page.getByTestId('detail')
      await expect(card).toContainText('Test')
      await expect(card.getByRole('button', { name: /^Approve/ })).toBeEnabled()
      // The page ignores deciding keys for half a second after a request appears; no element marks its end.
      await expect(async () => {
        await page.keyboard.press('a')
        await expect(card).toContainText(/\bapproved/i, { timeout: 1000 })
      }).toPass()
      await expect
        .poll(() => terminal.output)
        .toMatch(/✓ Saved[^]*✓ Answered: approved[^]*✓ Sent[^]*✓ Delivered[^]*✓ Ran/)
      await expect(card.getByTestId('delivery-steps')).toContainText(/ran/)
      await expect(page.getByRole('alert').filter({ visible: true, hasText: /./ })).toHaveCount(0)

      terminal.up('--test')
      const again = await terminal.address(1)
      expect(again).toMatch(/^http:\/\/localhost:\d+\/\?test=1$/)
      await page.goto(again)
      await page.waitForURL(/\/inbox\/\d+$/)
      await expect(card).toContainText('Test')
      await page.goto(again) // while it is open
      await expect(page.getByText(/Answer or cancel request \d+ first/)).toBeVisible()
    } finally {
      await terminal.close()
    }
  })
})
