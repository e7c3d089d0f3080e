import { openInNewBrowser, claimHub, invitePerson } from './people.ts'
import { choose, detail, expect, row, test, waitUntilLive, openMore } from './fixtures.ts'

const SHOTS = process.env.SHOTS

test.describe('Claims', () => {
  test('name their person on every page, and end with the request', async ({
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
    await noor.keyboard.press('o')
    await expect(detail(noor, id).getByTestId('claim')).toContainText('You’re on it')
    await expect(detail(mara, id).getByTestId('claim')).toContainText('noor is on it')
    await expect(row(mara, id).getByTestId('claim-chip')).toHaveText('noor is on it')

    await (await openMore(noor, id)).getByLabel('Hand over to…').selectOption('mara')
    await expect(detail(mara, id).getByTestId('claim')).toContainText('You’re on it (handed over by noor)')
    await expect(detail(noor, id).getByTestId('claim')).toContainText('mara is on it')
    if (SHOTS)
      for (const colorScheme of ['light', 'dark'] as const) {
        await mara.emulateMedia({ colorScheme })
        await mara.screenshot({ path: `${SHOTS}/claim-${colorScheme}.png` })
      }
    await mara.keyboard.press('d')
    await expect(detail(mara, id).getByTestId('reasons').getByRole('button')).toHaveCount(4)
    if (SHOTS) await mara.screenshot({ path: `${SHOTS}/reasons.png` })
    await mara.keyboard.press('Escape')
    await mara.keyboard.press('o')
    await expect(detail(noor, id).getByTestId('claim')).not.toContainText('is on it')

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
    await (await openMore(page, id)).getByRole('button', { name: /I’m on it/ }).click()
    await expect(detail(page, id).getByTestId('claim')).toContainText('You’re on it')
    await detail(page, id)
      .getByRole('button', { name: /Something else/ })
      .click()
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/claim-phone.png` })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390)
  })
})
