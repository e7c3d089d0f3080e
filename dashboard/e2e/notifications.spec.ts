import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { accessibilityViolations } from './accessibility.ts'
import { choose, detail, expect, openAt, test } from './fixtures.ts'
import { callApi, claimHub } from './people.ts'

const SHOTS = process.env.SHOTS

/** Starts a webhook server that responds with the given status. */
async function receiver(status: () => number): Promise<{ server: Server; url: string; got: string[] }> {
  const got: string[] = []
  const server = createServer((request: IncomingMessage, answer) => {
    let body = ''
    request.on('data', (piece) => (body += String(piece)))
    request.on('end', () => {
      got.push(body)
      answer.writeHead(status()).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got }
}

test.describe('Notifications', () => {
  test('add, test and remove a channel, and show its secret once', async ({ page, hub }) => {
    let status = 200
    const { server, url, got } = await receiver(() => status)
    await claimHub(page, hub)
    await openAt(page, hub, '/settings/hub')
    await page.getByRole('button', { name: 'Add channel' }).click()
    await page.getByLabel('Kind').selectOption('webhook')
    await page.getByRole('textbox', { name: 'Name' }).fill('on-call')
    await page.getByLabel('URL').fill('nonsense')
    await expect(page.getByText('does not look valid')).toBeVisible()
    await expect(page.getByRole('button', { name: 'Add channel' })).toBeDisabled()
    await page.getByLabel('URL').fill(url)
    expect(await accessibilityViolations(page)).toEqual([])
    await page.getByRole('button', { name: 'Add channel' }).click()
    await expect(page.getByTestId('one-time-secret')).toContainText('whsec_')
    await page.getByRole('button', { name: 'Done' }).click()
    const line = page.locator('[data-channel="on-call"]')
    await expect(line).toContainText('Webhook')
    await page.getByRole('button', { name: 'Test on-call' }).click()
    await expect(line).toContainText('Test sent.')
    expect(got.length).toBeGreaterThan(0)
    status = 500
    await page.getByRole('button', { name: 'Test on-call' }).click()
    await expect(line).toContainText('Test failed')
    await page.reload()
    await expect(line).toBeVisible()
    await expect(page.getByText('whsec_')).toHaveCount(0)
    await line.getByRole('button', { name: /^Remove/ }).click()
    await line.getByRole('button', { name: /^Confirm remove/ }).click()
    await expect(line).toHaveCount(0)
    server.close()
  })

  test('are listed on the request with their channel', async ({ page, hub, agent }) => {
    const { server, url, got } = await receiver(() => 200)
    await claimHub(page, hub)
    await callApi(page, 'POST', '/api/channels', { name: 'on-call', url })
    const { id } = await agent.ask(hub, { question: 'Ship it?' })
    await openAt(page, hub)
    await choose(page, id)
    await expect(detail(page, id).getByTestId('notifications')).toContainText('1 sent')
    await expect(detail(page, id).getByTestId('notifications')).toContainText('on-call')
    expect(got.join()).toContain('Ship it?')
    server.close()
  })

  test('are sent by a channel for the requests of its filter only', async ({ page, hub, agent }) => {
    const { server, url, got } = await receiver(() => 200)
    await claimHub(page, hub)
    await callApi(page, 'POST', '/api/channels', { name: 'payments', url })
    await openAt(page, hub, '/settings/hub')
    await page.getByRole('button', { name: 'Filter of payments' }).click()
    const form = page.getByRole('form', { name: 'Requests that payments sends' })
    await form.getByLabel('Files of the call').fill('payments/*')
    await form.getByLabel('Owners of the files').fill('@shop/payments, @ops')
    await form.getByLabel('Risk').selectOption('Low or more')
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/channel-filter.png` })
    expect(await accessibilityViolations(page)).toEqual([])
    await form.getByLabel('Risk').selectOption('Any')
    await form.getByRole('button', { name: 'Save filter' }).click()
    await expect(form).toHaveCount(0)
    const line = page.getByTestId('channel-filter')
    await expect(line).toHaveText('Only requests about payments/* · with the owner @shop/payments, @ops')
    const remove = (file: string) => ({
      question: `Remove ${file}?`,
      toolCall: { name: 'Bash', arguments: { command: `rm ${file}` } },
      context: { cwd: '/w/shop', owners: { files: [{ paths: [file], owners: ['@shop/payments'] }] } },
    })
    await agent.ask(hub, remove('web/a.js'))
    await agent.ask(hub, remove('payments/charge.go'))
    await expect.poll(() => got.join()).toContain('payments/charge.go')
    expect(got.join()).not.toContain('web/a.js')
    await page.getByRole('button', { name: 'Filter of payments' }).click()
    await expect(form.getByLabel('Files of the call')).toHaveValue('payments/*')
    await form.getByLabel('Files of the call').fill('')
    await form.getByLabel('Owners of the files').fill('')
    await form.getByRole('button', { name: 'Save filter' }).click()
    await expect(line).toHaveCount(0)
    server.close()
  })

  test("follow each person's preferences, which the hub keeps", async ({ page, hub }) => {
    await claimHub(page, hub)
    await openAt(page, hub, '/settings/preferences')
    await page.getByLabel(/At most one message/).fill('15')
    await page.getByLabel('Quiet hours').check()
    await page.getByLabel('from').fill('21:30')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Saved.')).toBeVisible()
    await page.reload()
    await expect(page.getByLabel(/At most one message/)).toHaveValue('15')
    await expect(page.getByLabel('from')).toHaveValue('21:30')
    await expect(page.getByLabel('to', { exact: true })).toHaveValue('07:00')
    await page.getByLabel('Quiet hours').uncheck()
    await page.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('Saved.')).toBeVisible()
    await page.reload()
    await expect(page.getByLabel('Quiet hours')).not.toBeChecked()
  })

  test('explain how to allow them in a browser that blocks them', async ({ page, hub }) => {
    await page.addInitScript(() =>
      Object.defineProperty(Notification, 'permission', { get: () => 'denied', configurable: true }),
    )
    await openAt(page, hub, '/settings/preferences')
    await expect(page.getByTestId('push-denied')).toContainText('This browser blocks notifications')
    await expect(page.getByRole('button', { name: 'Enable push' })).toHaveCount(0)
  })
})

test.describe('Audit log', () => {
  test('warns if an entry was changed since the last visit', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    await hub.post(`/events/${id}/respond`, { permission: true })
    await openAt(page, hub, '/team/audit')
    await expect(page.getByTestId('audit-status')).toContainText('will check the log hasn’t changed')
    await expect(page.getByRole('listitem').filter({ hasText: `#${id}` })).toContainText('approved')
    await page.getByText('Verify', { exact: true }).click()
    const hash = await page.getByTestId('head-hash').innerText()
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    const href = await page.getByRole('link', { name: 'Download the log' }).getAttribute('href')
    const file = await fetch(hub.url + href).then((r) => r.text())
    expect(file.trim().split('\n').at(-1)).toContain(hash)
    expect(await accessibilityViolations(page)).toEqual([])

    const more = await agent.ask(hub, {})
    await hub.post(`/events/${more.id}/respond`, { permission: false })
    await page.reload()
    await expect(page.getByTestId('audit-status')).toContainText('No entry has changed since')

    // Once, in the next document before its scripts run: the page of this one may still store.
    await page.addInitScript(() => {
      if (sessionStorage.getItem('changed')) return
      sessionStorage.setItem('changed', 'yes')
      const all = JSON.parse(localStorage.getItem('hookback.ledger') ?? '{}') as Record<
        string,
        { hash: string }
      >
      for (const seen of Object.values(all)) seen.hash = 'f'.repeat(64)
      localStorage.setItem('hookback.ledger', JSON.stringify(all))
    })
    await page.reload()
    await expect(page.getByTestId('audit-alarm')).toContainText(/hash of entry \d+ is different/)
    expect(await accessibilityViolations(page)).toEqual([])
    await page.reload() // a reload does not dismiss it
    await expect(page.getByTestId('audit-alarm')).toBeVisible()
    await page.getByRole('button', { name: /I know why/ }).click()
    await page.reload()
    await expect(page.getByTestId('audit-status')).toBeVisible()
  })
})
