import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import type { Agent } from './agent.ts'
import { choose, detail, expect, openAt, openMore, test as base, visit, waitUntilLive } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import { callApi, claimHub } from './people.ts'

/** The page of the owner: only signed-in people create rules. */
const test = base.extend({
  page: async ({ page, hub }, use) => {
    await claimHub(page, hub)
    await use(page)
  },
})

const ask = (agent: Agent, hub: HubProcess, command: string, more = {}) =>
  agent.ask(hub.fromOtherProcess(), {
    question: 'Run a shell command',
    toolCall: { name: 'Bash', arguments: { command } },
    context: { cwd: '/home/dev/app' },
    ...more,
  })
const dialog = (page: Page) => page.getByRole('dialog', { name: /^Allow harmless calls of this session/ })
const pending = (page: Page, id: number) =>
  page.getByRole('region', { name: 'Needs you' }).locator(`[data-id="${id}"]`)

/** Starts one from the page, so that the test continues with it. */
const allow = (page: Page, from: number) =>
  callApi(page, 'POST', '/api/rules', { from, then: 'allow', scope: 'session', reach: 'session' })

async function expectAccessible(page: Page, name: string) {
  for (const width of [390, 1360]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await accessibilityViolations(page), `${name} at ${width}`).toEqual([])
    expect(await smallTargets(page), `${name} at ${width}`).toEqual([])
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
    if (process.env.SHOTS)
      for (const scheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme: scheme })
        await page.screenshot({ path: `${process.env.SHOTS}/${name}-${width}-${scheme}.png` })
      }
  }
}

test.describe('Allowance', () => {
  test('approves harmless calls of the session until a key ends it', async ({ page, hub, agent }) => {
    const risky = await ask(agent, hub, 'rm -rf build')
    const first = await ask(agent, hub, 'git log')
    await openAt(page, hub)
    await choose(page, first.id)
    await page.keyboard.press('w')
    await expect(dialog(page)).toContainText('in your name')
    await expectAccessible(page, 'dialog')
    await expect(dialog(page).getByLabel('Also approve matching pending requests')).not.toBeChecked()
    await expect(dialog(page).getByRole('button', { name: 'Allow for 15 minutes' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(dialog(page)).toHaveCount(0)
    const chip = detail(page, first.id).getByTestId('allowance')
    await expect(chip).toContainText(/Harmless calls allowed: 1[45]:\d\d/)
    await expect(detail(page, first.id).getByRole('button', { name: /^Approve/ })).toBeVisible()
    await expectAccessible(page, 'card')

    for (const command of ['git status', 'ls']) {
      const next = await ask(agent, hub, command)
      expect((await next.answer).permission).toBe(true)
      await choose(page, next.id)
      await expect(detail(page, next.id).getByTestId('answered-by')).toContainText(
        'Allow harmless calls, in the session s1 of api, for 15 minutes',
      )
      await expect(detail(page, next.id).getByTestId('allowance')).toBeVisible()
    }
    const again = await ask(agent, hub, 'npm test')
    await expect(pending(page, again.id)).toBeVisible()
    await expect(pending(page, risky.id)).toBeVisible()

    await choose(page, again.id)
    await page.keyboard.press('Shift+W')
    await expect(detail(page, again.id).getByTestId('allowance')).toHaveCount(0)
    const after = await ask(agent, hub, 'ls')
    await expect(pending(page, after.id)).toBeVisible()
  })

  test('starts from the menu of a risky request, for pending ones too, and is replaced', async ({
    page,
    hub,
    agent,
  }) => {
    const waiting = await ask(agent, hub, 'git diff')
    const risky = await ask(agent, hub, 'rm -rf build')
    await openAt(page, hub)
    await choose(page, risky.id)
    await (await openMore(page, risky.id)).getByRole('button', { name: 'Allow harmless calls' }).click()
    await dialog(page).getByLabel('Also approve matching pending requests').check()
    await dialog(page).getByRole('button', { name: 'Allow for 15 minutes' }).click()
    expect((await waiting.answer).permission).toBe(true)
    await expect(dialog(page)).toHaveCount(0) // the answer may arrive before the response
    await expect(pending(page, risky.id)).toBeVisible()
    await page.keyboard.press('w')
    await dialog(page).getByRole('button', { name: 'Start again for 15 minutes' }).click()
    await expect(dialog(page)).toHaveCount(0)
    await expect(detail(page, risky.id).getByTestId('allowance')).toHaveCount(1)
    await visit(page, '/policy')
    await expect(page.getByTestId('hub-rules').getByRole('listitem')).toHaveCount(1)
  })

  test('shows on the session page and in Now, and ends there', async ({ page, hub, agent }) => {
    const { id } = await ask(agent, hub, 'git log')
    await openAt(page, hub, '/sessions/api/s1')
    await page.getByTestId('allow-session').click()
    await dialog(page).getByRole('button', { name: 'Allow for 15 minutes' }).click()
    await expect(page.getByTestId('allowance')).toContainText('Harmless calls allowed')
    await expectAccessible(page, 'session')
    await page.keyboard.press('Shift+W')
    await expect(page.getByTestId('allowance')).toHaveCount(0)
    await expect(page.getByTestId('allow-session')).toBeVisible()
    await expectAccessible(page, 'session-off')

    await visit(page, '/now')
    await waitUntilLive(page)
    const lane = page
      .getByTestId('lanes')
      .getByRole('listitem')
      .filter({ has: page.locator('[data-session="s1"]') })
    await expect(lane).toBeVisible()
    await allow(page, id) // as another browser would: the stream reports it
    await expect(lane.getByTestId('allowance')).toContainText('Harmless calls allowed')
    await expectAccessible(page, 'now')
    await page.keyboard.press('Shift+W')
    await expect(lane.getByTestId('allowance')).toHaveCount(0)
    await allow(page, id)
    await lane.getByRole('button', { name: 'End the allowance' }).click()
    await expect(lane.getByTestId('allowance')).toHaveCount(0)
  })

  test('survives a reload, and ends when the session is frozen', async ({ page, hub, agent }) => {
    const { id } = await ask(agent, hub, 'rm -rf build')
    await openAt(page, hub)
    await allow(page, id)
    await page.reload()
    await choose(page, id)
    await expect(detail(page, id).getByTestId('allowance')).toBeVisible()
    await callApi(page, 'POST', '/api/freezes', { scope: 'session', source_app: 'api', session_id: 's1' })
    await expect(detail(page, id).getByTestId('allowance')).toHaveCount(0)
    await page.keyboard.press('w')
    await dialog(page).getByRole('button', { name: 'Allow for 15 minutes' }).click()
    await expect(dialog(page).getByRole('alert')).toContainText('The session is frozen. Resume it first.')
  })
})

base('Allowance takes a signed-in person', async ({ page, hub, agent }) => {
  const { id } = await ask(agent, hub, 'git log')
  await openAt(page, hub)
  await choose(page, id)
  await page.keyboard.press('w')
  await expect(dialog(page).getByTestId('sign-in-first')).toContainText('allow the calls of a session')
})
