import type { Page } from '@playwright/test'
import { faults, overflow } from './barriers.ts'
import { Mailbox } from './mailbox.ts'
import { another, call, own } from './people.ts'
import type { RunningHub } from './hub.ts'
import { expect, test } from './page.ts'

/** The one who owns the hub gets mail, and is not looking. */
async function byMail(page: Page, hub: RunningHub, mailbox: Mailbox): Promise<void> {
  await own(page, hub)
  await call(page, 'POST', '/api/people/mara', { email: 'mara@example.com' })
  await call(page, 'POST', '/api/channels', { name: 'mail', url: mailbox.channel })
  await page.goto('about:blank')
}

/** The signed link in the mail, at the address that the tests use. */
async function linkTo(mailbox: Mailbox, hub: RunningHub): Promise<string> {
  const [path] = /\/hitl\/\d+\/vote#\S+/.exec(await mailbox.to('mara@example.com')) ?? []
  return hub.url + String(path)
}

test('a signed link answers once, without a sign-in, in the name of whom it was sent to', async ({
  page,
  hub,
  agent,
  browser,
  watch,
}) => {
  const mailbox = await Mailbox.open()
  await byMail(page, hub, mailbox)
  const { id, answer } = await agent.ask(hub, {
    question: 'Ship it?',
    toolCall: { name: 'Bash', arguments: { command: 'make release' } },
  })
  const link = await linkTo(mailbox, hub)
  const phone = await another(browser, watch, link)
  await phone.setViewportSize({ width: 390, height: 844 })
  await expect(phone.getByText('make release')).toBeVisible()
  await expect(phone.locator('header').first()).toContainText('For mara')
  expect(phone.url()).toBe(`${hub.url}/hitl/${id}/vote`)
  await phone.reload()
  await expect(phone.getByText('make release')).toBeVisible()
  expect(await faults(phone)).toEqual([])
  expect(await overflow(phone)).toBeLessThanOrEqual(0)
  await phone.getByRole('button', { name: /^Approve/ }).click()
  await expect(phone.getByTestId('voted')).toContainText('Done.')
  await expect(phone.getByTestId('settled')).toContainText('by a signed link')
  expect(await answer).toMatchObject({ permission: true, respondedBy: { name: 'mara', via: 'link' } })
  const again = await another(browser, watch, link)
  await expect(again.getByTestId('link-failed')).toContainText(/has been used|already decided/)
  expect(await faults(again)).toEqual([])
  mailbox.close()
})

test('a link that is not whole, or another request’s, says what to do', async ({ page, hub, agent }) => {
  const { id } = await agent.ask(hub, { question: 'Ship it?' })
  await page.goto(`${hub.url}/hitl/${id}/vote`)
  await expect(page.getByTestId('link-failed')).toContainText('It was cut off')
  await page.waitForLoadState('networkidle') // what is fetched ahead would fail by the page's end
  await page.goto('about:blank')
  await page.goto(`${hub.url}/hitl/${id}/vote#made.up`)
  await expect(page.getByTestId('link-failed')).toContainText('This link no longer works')
  await page.getByRole('link', { name: 'Open it in the dashboard' }).click()
  await expect(page.getByRole('heading', { name: 'Ship it?' })).toBeVisible()
})
