import type { Page } from '@playwright/test'
import { openInNewBrowser, claimHub, invitePerson } from './people.ts'
import { choose, detail, expect, row, test, waitUntilLive, openMore } from './fixtures.ts'

const SHOTS = process.env.SHOTS

async function chooseInMenu(page: Page, id: number, name: string): Promise<void> {
  await (await openMore(page, id)).getByRole('button', { name, exact: true }).click()
}

test.describe('Claims', () => {
  test('name their person on every page, and are given and released in the menu', async ({
    page: mara,
    browser,
    watch,
    hub,
    agent,
  }) => {
    await claimHub(mara, hub)
    const noor = await openInNewBrowser(browser, watch, await invitePerson(mara, 'noor'))
    await waitUntilLive(noor)
    const { id, answer } = await agent.ask(hub.fromOtherProcess(), {
      toolCall: { name: 'Bash', arguments: { command: 'make' } },
    })
    await choose(mara, id)
    await choose(noor, id)
    await chooseInMenu(noor, id, 'Take the request')
    await expect(detail(noor, id).getByTestId('claim-chip')).toHaveText('You have it')
    await expect(detail(mara, id).getByTestId('claim-chip')).toHaveText('noor has it')
    await expect(detail(mara, id).getByTestId('other-viewers')).toContainText('noor is looking.')
    await expect(row(mara, id).getByTestId('claim-chip')).toHaveText('noor has it')

    await chooseInMenu(noor, id, 'Give the request to mara')
    await expect(detail(mara, id).getByTestId('claim-chip')).toHaveText('You have it, given by noor')
    await expect(detail(noor, id).getByTestId('claim-chip')).toHaveText('mara has it, given by noor')
    if (SHOTS)
      for (const colorScheme of ['light', 'dark'] as const) {
        await mara.emulateMedia({ colorScheme })
        await mara.screenshot({ path: `${SHOTS}/claim-${colorScheme}.png` })
      }
    await mara.keyboard.press('d')
    await expect(detail(mara, id).getByTestId('reasons').getByRole('button')).toHaveCount(4)
    if (SHOTS) await mara.screenshot({ path: `${SHOTS}/reasons.png` })
    await mara.keyboard.press('Escape')
    await chooseInMenu(mara, id, 'Release the request')
    await expect(detail(noor, id).getByTestId('claim-chip')).toHaveCount(0)

    await noor.keyboard.press('d')
    await noor.keyboard.press('2')
    expect(await answer).toMatchObject({ permission: false, reason: 'Too risky. Find a safer way.' })
  })

  test('fit a phone', async ({ page, hub, agent }) => {
    await claimHub(page, hub)
    const { id } = await agent.ask(hub.fromOtherProcess(), {
      type: 'choice',
      question: 'Which testing framework?',
      choices: ['Jest', 'Vitest'],
      allowOther: true,
    })
    await page.setViewportSize({ width: 390, height: 780 })
    await page.goto(`${hub.url}/r/${id}`)
    const hint = 'Only operators can claim a request.'
    await page.route('**/claim', (route) =>
      route.fulfill({ status: 403, json: { code: 'not_allowed', title: 'Not allowed', hint } }),
    )
    await chooseInMenu(page, id, 'Take the request')
    await expect(detail(page, id)).toContainText(hint)
    await page.unroute('**/claim')
    await chooseInMenu(page, id, 'Take the request')
    await expect(detail(page, id).getByTestId('claim-chip')).toHaveText('You have it')
    await expect(detail(page, id)).not.toContainText(hint)
    await detail(page, id)
      .getByRole('button', { name: /Something else/ })
      .click()
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/claim-phone.png` })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  })
})
