import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { cliBinary } from './build-binaries.ts'
import { choose, expect, openAt, test } from './fixtures.ts'

const client = fileURLToPath(new URL('mcp-client.mjs', import.meta.url))

test.describe('MCP', () => {
  for (const transport of ['over HTTP', 'through hookback mcp'] as const) {
    test(`answers the official npm client ${transport} from the inbox`, async ({ page, hub }) => {
      const args =
        transport === 'over HTTP'
          ? [`${hub.url}/mcp`]
          : ['--', cliBinary, 'mcp', '--unsigned', '--hub', hub.url]
      const child = spawn(process.execPath, [client, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const nextLine = async () => JSON.parse((await lines.next()).value as string) as Record<string, unknown>
      try {
        expect((await nextLine()).tools).toContain('request_approval')
        expect(await nextLine()).toEqual({ asked: 'pending' })
        // The progress arrives before the answer, so the response is not buffered.
        expect(await nextLine()).toEqual({ progress: 'Waiting for a person.' })
        await openAt(page, hub)
        const list = page.getByTestId('list')
        await expect(list).toContainText('Which region?')
        const id = Number(await list.locator('[data-id]').first().getAttribute('data-id'))
        await choose(page, id)
        await page.getByTestId('detail').getByText('eu', { exact: true }).first().click()
        await page.keyboard.press('Enter')
        let last = await nextLine()
        while (last.progress) last = await nextLine()
        expect(last.outcome).toBe('eu')
        const vote = await nextLine()
        expect(vote.refused).toBe(true)
        expect(vote.why).toContain('sign_in')
      } finally {
        child.kill()
      }
    })
  }
})
