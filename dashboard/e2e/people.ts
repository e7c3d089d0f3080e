import type { Browser, BrowserContext, Page } from '@playwright/test'
import { expect, waitUntilLive, test } from './fixtures.ts'
import type { HubProcess } from './hub.ts'

/** Opens a URL in a separate browser context, as another person. */
export async function openInNewBrowser(
  browser: Browser,
  watch: (page: Page) => Promise<void>,
  url: string,
): Promise<Page> {
  const context: BrowserContext = await browser.newContext({ viewport: { width: 1360, height: 860 } })
  const page = await context.newPage()
  await watch(page)
  await page.goto(url)
  return page
}

export const userBadge = (page: Page) => page.getByTestId('current-user')

/**
 * Signs in with the hub's first link and claims the hub, which locks it. From then on an agent
 * whose request a person answers posts from another process; see HubProcess.fromOtherProcess.
 */
export async function claimHub(page: Page, hub: HubProcess, name = 'mara'): Promise<void> {
  await page.goto(hub.signInLink)
  const welcome = page.getByRole('dialog', { name: 'Welcome to your hub' })
  await welcome.getByLabel('Your name').fill(name)
  await welcome.getByRole('button', { name: 'Claim this hub' }).click()
  await expect(userBadge(page)).toContainText(name)
  await expect(userBadge(page)).not.toContainText('can answer')
  await waitUntilLive(page)
}

/** Returns the link at the address that the test uses; a sign-in is valid for one address. */
export const atHubAddress = (hub: HubProcess, link: string): string => hub.url + '/' + new URL(link).hash

/** Unlocks the hub with the palette. */
export async function unlockHub(page: Page): Promise<void> {
  await page.keyboard.press('Control+k')
  await page.keyboard.type('unlock the hub')
  await expect(page.getByTestId('palette').getByRole('option', { selected: true })).toContainText(
    'Unlock the hub',
  )
  await page.keyboard.press('Enter')
  await expect(userBadge(page)).toContainText('Unlocked: some local programs can answer')
}

/** Creates a person with the admin's sign-in. Returns their sign-in link. */
export async function invitePerson(admin: Page, name: string, role = 'operator'): Promise<string> {
  const person = await callApi(admin, 'POST', '/api/people', { name, role })
  const { hash } = new URL((person as { signInUrl: string }).signInUrl)
  return `${new URL(admin.url()).origin}/${hash}`
}

/** Calls the hub's API with the page's sign-in. */
export function callApi(page: Page, method: string, path: string, body?: unknown): Promise<unknown> {
  return page.evaluate(
    async ([method, path, body]) => {
      const answer = await fetch(path, {
        method,
        headers: {
          'Content-Type': 'application/json',
          'Hookback-Key': localStorage.getItem('hookback.key') ?? '',
        },
        ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
      })
      return answer.json() as Promise<unknown>
    },
    [method, path, body] as const,
  )
}

export { test }
