import { expect, test as base, type Locator, type Page } from '@playwright/test'
import { Agent } from './agent.ts'
import { HubProcess } from './hub.ts'

export { expect }

interface Fixtures {
  hub: HubProcess
  agent: Agent
  /** Fails the test if the page violates its content security policy or throws. */
  watch: (page: Page) => Promise<void>
}

export const test = base.extend<Fixtures>({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  hub: async ({}, use) => {
    const hub = await HubProcess.start()
    await use(hub)
    await hub.remove()
  },
  // eslint-disable-next-line no-empty-pattern -- as above
  agent: async ({}, use) => {
    const agent = await Agent.start()
    await use(agent)
    await agent.stop()
  },
  // eslint-disable-next-line no-empty-pattern -- as above
  watch: async ({}, use) => {
    const broken: string[] = []
    await use(async (page) => {
      page.on('pageerror', (error) => broken.push(`${error.name}: ${error.message}\n${error.stack}`))
      page.on('console', (message) => {
        if (/content security policy|trusted ?type|refused to|policy broken/i.test(message.text()))
          broken.push(message.text())
      })
      // The wording of the browser's message changes between versions; the event does not.
      await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (e) =>
          console.error(`policy broken: ${e.effectiveDirective} ${e.blockedURI} ${e.sample}`),
        )
      })
    })
    expect(broken).toEqual([])
  },
  page: async ({ page, watch }, use) => {
    await watch(page)
    await use(page)
  },
})

/** Opens a screen and waits until its stream is live. */
export async function openAt(page: Page, hub: HubProcess, path = '/'): Promise<void> {
  await page.goto(hub.url + path)
  await waitUntilLive(page)
}

/** Navigates to another screen without a page load, like a link. */
export async function visit(page: Page, path: string): Promise<void> {
  await page.evaluate((to) => {
    const link = document.createElement('a')
    link.href = to
    document.body.append(link)
    link.click()
    link.remove()
  }, path)
  await expect(page.locator('main').getByRole('heading', { level: 1 }).first()).toBeAttached()
  await expect(page.locator('main').getByText(/^Loading/)).toHaveCount(0)
}

export const waitUntilLive = (page: Page) =>
  expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'live')

export const row = (page: Page, id: number) => page.getByTestId('list').locator(`[data-id="${id}"]`)
export const detail = (page: Page, id: number) => page.locator(`[data-testid="detail"][data-request="${id}"]`)

/** Opens the menu of a card with its further actions. */
export async function openMore(page: Page, id: number): Promise<Locator> {
  await detail(page, id).getByTestId('more').click()
  const menu = page.getByRole('group', { name: 'More actions' })
  await expect(menu).toBeVisible()
  return menu
}

/** Selects a request with a click, which ends the grace period. */
export async function choose(page: Page, id: number): Promise<void> {
  await row(page, id).click()
  await expect(detail(page, id)).toBeVisible()
}

/**
 * Ends the grace period in which the page ignores deciding keys and clicks. The test calls
 * page.clock.install() before the page loads.
 */
export const skipGrace = (page: Page) => page.clock.runFor(2000)

/**
 * Stops the page's clock after the grace period: no timer fires until page.clock.resume() or
 * page.clock.runFor(). The test calls page.clock.install() before the page loads.
 */
export async function pauseClock(page: Page): Promise<void> {
  await skipGrace(page)
  await page.clock.pauseAt(await page.evaluate(() => Date.now() + 20_000))
}

/**
 * Presses a key in the first frame that shows a decidable request other than the given one,
 * like a person who was about to press it anyway. The frame takes longer than the grace period,
 * as on a busy machine.
 */
export async function pressKeyAtNext(page: Page, than: number, key: string): Promise<void> {
  await page.evaluate(
    ([current, stray]) => {
      const look = () => {
        const shown = document.querySelector<HTMLElement>('[data-testid=detail]')
        const ready = [...(shown?.querySelectorAll('button') ?? [])].some((b) =>
          /^\s*Approve/.test(b.innerText),
        )
        if (!ready || shown?.dataset.request === String(current)) return void requestAnimationFrame(look)
        const stamp = () => new Event('').timeStamp // real also with a clock of the test's
        for (const shownAt = stamp(); stamp() < shownAt + 700;);
        document.body.dispatchEvent(
          new KeyboardEvent('keydown', {
            key: String(stray),
            shiftKey: /^[A-Z]$/.test(String(stray)),
            bubbles: true,
            cancelable: true,
          }),
        )
        document.body.dataset.pressed = shown?.dataset.request
      }
      look()
    },
    [than, key] as const,
  )
}
