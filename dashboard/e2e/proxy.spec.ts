import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from './fixtures.ts'
import type { HubProcess } from './hub.ts'

/** Serves the hub at another port, under the hub's name. Paths outside the prefix are not its own. */
async function proxyTo(hub: HubProcess, prefix = '') {
  const { hostname, port, host } = new URL(hub.url)
  const proxy = createServer((asked, answer) => {
    if (!asked.url!.startsWith(prefix)) return void answer.writeHead(404).end()
    const path = asked.url!.slice(prefix.length) || '/'
    const headers = { ...asked.headers, host }
    const forwarded = request({ hostname, port, path, method: asked.method, headers }, (got) =>
      got.pipe(answer.writeHead(got.statusCode!, got.headers)),
    )
    asked.pipe(forwarded.on('error', () => answer.destroy()))
  })
  await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${prefix}/`,
    [Symbol.asyncDispose]: () => {
      proxy.closeAllConnections()
      return new Promise<void>((closed) => proxy.close(() => closed()))
    },
  }
}

test.describe('A page that does not load', () => {
  test('names the header Host that a proxy changed', async ({ context, hub }) => {
    const page = await context.newPage() // not watched: the browser reports the refused files
    await using proxy = await proxyTo(hub)
    await page.goto(proxy.url)
    await expect(page.locator('#app')).toContainText('a proxy changes the header Host')
    await expect(page.locator('#app')).toContainText(`It must send "${new URL(proxy.url).host}"`)
  })

  test('says that the hub needs a host name of its own', async ({ page, hub }) => {
    await using proxy = await proxyTo(hub, '/hookback')
    await page.goto(proxy.url)
    await expect(page.locator('#app')).toContainText('below a path it does not work')
  })
})
