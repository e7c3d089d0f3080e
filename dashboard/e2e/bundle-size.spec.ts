import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, openAt, test } from './fixtures.ts'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const size = (file: string) => gzipSync(readFileSync(`${dist}/${file}`), { level: 9 }).length

test.describe('Bundle size', () => {
  test('keeps the first load within 100 kB of JavaScript and 10 kB of CSS, each later file within 70 kB, and all in at most 12 scripts', () => {
    const html = readFileSync(`${dist}/index.html`, 'utf8')
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1] ?? '')
    const sum = (end: string) => first.filter((f) => f.endsWith(end)).reduce((n, f) => n + size(f), 0)
    const scripts = sum('.js')
    if (scripts > 95_000)
      console.warn(`The first load has ${scripts} bytes of JavaScript. The limit is 100 kB.`)
    expect(scripts).toBeGreaterThan(0)
    expect(scripts).toBeLessThanOrEqual(100_000)
    expect(sum('.css')).toBeLessThanOrEqual(10_000)
    const later = readdirSync(`${dist}/assets`).filter(
      (f) => /\.(css|js)$/.test(f) && !first.includes(`assets/${f}`),
    )
    for (const file of later) expect(size(`assets/${file}`), file).toBeLessThanOrEqual(70_000)
    expect(later.filter((f) => f.endsWith('.js')).length).toBeLessThanOrEqual(11)
  })
  test('loads 20 requests with at most 110 kB up to the first card, also with a call of 1 MB among them', async ({
    page,
    hub,
  }) => {
    const ask = (i: number, toolCall: object) => ({
      hook_event_type: 'PermissionRequest',
      session_id: `s${i}`,
      humanInTheLoop: {
        type: 'permission',
        question: `Run test ${i}?`,
        timeout: 3600,
        toolCall,
      },
    })
    const run = (i: number) => ({ name: 'Bash', arguments: { command: `go test -run Test${i}` } })
    const large = { name: 'Write', arguments: { file_path: '/srv/a', content: 'x y\n'.repeat(250_000) } }
    await hub.batch(20, (i) => ask(i, i === 7 ? large : run(i)))
    await hub.batch(1, () => ({ payload: { tool_response: { stdout: 'y'.repeat(1_000_000) } } }))
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('Network.enable')
    const isData = new Map<string, string>()
    const sizes = new Map<string, number>()
    cdp.on('Network.responseReceived', ({ requestId, response }) => {
      const { pathname } = new URL(response.url)
      if (!/^\/(assets|fonts)\/|\.(png|svg|webmanifest)$/.test(pathname) && pathname !== '/')
        isData.set(requestId, pathname)
    })
    cdp.on('Network.dataReceived', ({ requestId, encodedDataLength, dataLength }) =>
      sizes.set(requestId, (sizes.get(requestId) ?? 0) + (encodedDataLength || dataLength)),
    )
    cdp.on('Network.webSocketFrameReceived', ({ requestId, response }) => {
      isData.set(requestId, 'stream')
      sizes.set(requestId, (sizes.get(requestId) ?? 0) + response.payloadData.length)
    })
    await openAt(page, hub)
    await expect(page.getByTestId('detail').getByRole('button', { name: /^Approve A/ })).toBeVisible()
    await expect(page.getByTestId('count')).toContainText('20')
    const perPath = [...isData].map(([id, path]) => [path, sizes.get(id) ?? 0] as const)
    const total = perPath.reduce((sum, [, n]) => sum + n, 0)
    expect(total, JSON.stringify(perPath)).toBeGreaterThan(1000)
    expect(total, JSON.stringify(perPath)).toBeLessThanOrEqual(110_000)
  })
})
