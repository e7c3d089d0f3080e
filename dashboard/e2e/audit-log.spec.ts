import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import type { Agent } from './agent.ts'
import { detail, expect, openAt, test, visit, waitUntilLive } from './fixtures.ts'
import type { HubProcess } from './hub.ts'

interface Entry {
  n: number
  hash: string
}

const newestEntry = async (hub: HubProcess): Promise<Entry> => {
  const [entry] = (await fetch(`${hub.url}/api/ledger?limit=1`).then((r) => r.json())) as Entry[]
  if (!entry) throw new Error('the audit log is empty')
  return entry
}

async function decide(hub: HubProcess, agent: Agent, permission = true): Promise<number> {
  const { id } = await agent.ask(hub, {})
  await hub.post(`/events/${id}/respond`, { permission })
  return id
}

/** Waits until the browser stores an entry. */
const storesEntry = (page: Page, { hash }: Entry) =>
  expect.poll(() => page.evaluate(() => localStorage.getItem('hookback.ledger'))).toContain(hash)

test.describe('Audit log', () => {
  test('a banner on every screen reports a rewritten log until the entry is forgotten', async ({
    page,
    hub,
    agent,
  }) => {
    const banner = page.getByTestId('audit-log-changed')
    await decide(hub, agent)
    await hub.stop()
    const restoreDatabase = await hub.copyDatabase()
    await hub.restart()
    await decide(hub, agent)
    const seen = await newestEntry(hub)
    await openAt(page, hub)
    await storesEntry(page, seen)
    await expect(banner).toHaveCount(0)

    // The end of the log is missing: an open page finds it, too.
    await hub.stop()
    await restoreDatabase()
    await hub.restart()
    const sentence = `The audit log was changed. Entry ${seen.n} was ${seen.hash.slice(0, 8)} when this browser last saw it.`
    await expect(banner).toContainText(sentence)
    for (const path of ['/stream', '/sessions', '/policy', '/settings/hub', '/team/audit', '/']) {
      await visit(page, path)
      await expect(banner).toContainText(sentence)
    }

    // Other entries took the place of the missing ones.
    while ((await newestEntry(hub)).n <= seen.n) await decide(hub, agent, false)
    await page.reload()
    await waitUntilLive(page)
    await expect(banner).toContainText(sentence)
    expect(await accessibilityViolations(page)).toEqual([])
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 860 })
      expect(await horizontalOverflow(page)).toBe(0)
      expect(await smallTargets(page)).toEqual([])
    }
    await page.setViewportSize({ width: 1360, height: 860 })
    await banner.getByRole('link', { name: 'Show the audit log' }).click()
    await expect(page.getByTestId('audit-alarm')).toContainText(`hash of entry ${seen.n} is different`)

    const newest = await newestEntry(hub)
    await banner.getByRole('button', { name: 'Forget this entry' }).click()
    await banner.getByRole('button', { name: 'Trust the current log?' }).click()
    await expect(banner).toHaveCount(0)
    await expect(page.getByTestId('audit-alarm')).toHaveCount(0)
    await storesEntry(page, newest)
    await page.reload()
    await expect(page.getByTestId('audit-status')).toContainText('No entry has changed')
    await expect(banner).toHaveCount(0)
  })
})

test.describe('Settings', () => {
  test('show the key id to compare with doctor', async ({ page, hub }) => {
    const { keyId } = (await fetch(`${hub.url}/api/hub`).then((r) => r.json())) as { keyId: string }
    await openAt(page, hub, '/settings/hub')
    await expect(page.getByTestId('key-id')).toContainText(keyId)
    await expect(page.getByTestId('key-id')).toContainText('hookback doctor')
    expect(await accessibilityViolations(page)).toEqual([])
  })
})

test.describe('Receipt', () => {
  test('can be downloaded once the request is settled', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    await openAt(page, hub, `/inbox/${id}`)
    const link = detail(page, id).getByRole('link', { name: 'Download the receipt' })
    await expect(detail(page, id).getByRole('button', { name: /^Approve/ })).toBeVisible()
    await expect(link).toHaveCount(0)
    await hub.post(`/events/${id}/respond`, { permission: true })
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
    expect(download.suggestedFilename()).toBe(`receipt-${id}.json`)
    const receipt = JSON.parse(await readFile(await download.path(), 'utf8')) as {
      envelope: { payloadType: string }
    }
    expect(receipt.envelope.payloadType).toBe('application/vnd.in-toto+json')
  })

  test('is not offered if the request has none', async ({ page, hub, agent }) => {
    // A request that was settled before the hub signed decisions.
    await page.route('**/events/*/receipt', (route) => route.fulfill({ status: 404 }))
    const id = await decide(hub, agent)
    const asked = page.waitForResponse('**/events/*/receipt')
    await openAt(page, hub, `/inbox/${id}`)
    await asked
    await expect(detail(page, id).getByTestId('settled')).toContainText('Approved')
    await expect(detail(page, id).getByRole('link', { name: 'Download the receipt' })).toHaveCount(0)
  })
})
