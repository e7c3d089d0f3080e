import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow } from './accessibility.ts'
import { Mailbox } from './mailbox.ts'
import { openInNewBrowser, callApi, claimHub } from './people.ts'
import { HubProcess } from './hub.ts'
import { expect, test as base } from './fixtures.ts'

// Mails have links only if another device can open them. The check of the address ends at a closed port.
const flags = ['-public-url', 'https://hub.example.com', '-notify-proxy', 'http://127.0.0.1:9']
const test = base.extend<{ hub: HubProcess }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  hub: async ({}, use) => {
    const hub = await HubProcess.start(flags)
    await use(hub)
    await hub.remove()
  },
})

/** Gives the owner a mail channel and leaves the dashboard. */
async function byMail(page: Page, hub: HubProcess, mailbox: Mailbox): Promise<void> {
  await claimHub(page, hub)
  await callApi(page, 'POST', '/api/people/mara', { email: 'mara@example.com' })
  await callApi(page, 'POST', '/api/channels', { name: 'mail', url: mailbox.channel })
  await page.goto('about:blank')
}

/** Returns the signed link in the mail, at the address that the test uses. */
async function linkTo(mailbox: Mailbox, hub: HubProcess): Promise<string> {
  const [path] = /\/hitl\/\d+\/vote#\S+/.exec(await mailbox.to('mara@example.com')) ?? []
  return hub.url + String(path)
}

test.describe('Signed link', () => {
  test('answers once for its recipient, without a sign-in', async ({ page, hub, agent, browser, watch }) => {
    const mailbox = await Mailbox.open()
    await byMail(page, hub, mailbox)
    const { id, answer } = await agent.ask(hub.fromOtherProcess(), {
      question: 'Ship it?',
      toolCall: { name: 'Bash', arguments: { command: 'make release' } },
    })
    const link = await linkTo(mailbox, hub)
    const phone = await openInNewBrowser(browser, watch, link)
    await phone.setViewportSize({ width: 390, height: 844 })
    await expect(phone.locator('.call-preview').getByText('make release')).toBeVisible()
    await expect(phone.locator('header').first()).toContainText('For mara')
    expect(phone.url()).toBe(`${hub.url}/hitl/${id}/vote`)
    await phone.reload()
    await expect(phone.locator('.call-preview').getByText('make release')).toBeVisible()
    expect(await accessibilityViolations(phone)).toEqual([])
    expect(await horizontalOverflow(phone)).toBeLessThanOrEqual(0)
    await phone.getByRole('button', { name: /^Approve/ }).click()
    await expect(phone.getByTestId('voted')).toContainText('Done.')
    await expect(phone.getByTestId('settled')).toContainText('by a signed link')
    expect(await answer).toMatchObject({ permission: true, respondedBy: { name: 'mara', via: 'link' } })
    const again = await openInNewBrowser(browser, watch, link)
    await expect(again.getByTestId('link-failed')).toContainText(/has been used|already decided/)
    expect(await accessibilityViolations(again)).toEqual([])
    mailbox.close()
  })

  test('explains a truncated or invalid link', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Ship it?' })
    await page.goto(`${hub.url}/hitl/${id}/vote`)
    await expect(page.getByTestId('link-failed')).toContainText('It was cut off')
    await page.waitForLoadState('networkidle') // navigating away would abort prefetches
    await page.goto('about:blank')
    await page.goto(`${hub.url}/hitl/${id}/vote#made.up`)
    await expect(page.getByTestId('link-failed')).toContainText('This link no longer works')
    await page.getByRole('link', { name: 'Open it in the dashboard' }).click()
    await expect(page.getByRole('heading', { name: 'Ship it?' })).toBeVisible()
  })
})
