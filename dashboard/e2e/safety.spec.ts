import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { expect, openAt, test, visit, waitUntilLive } from './fixtures.ts'
import { HubProcess } from './hub.ts'
import { atHubAddress, claimHub, invitePerson, openInNewBrowser, userBadge } from './people.ts'

const claude = { agent: 'claude-code' }
const section = (page: Page) => page.getByRole('region', { name: 'Automatic freezes' })
const now = (page: Page) => section(page).getByTestId('safety-now')

async function fail(hub: HubProcess, from: number, to: number): Promise<void> {
  for (let i = from; i <= to; i++)
    await hub.event(
      'PostToolUseFailure',
      {
        tool_name: 'Bash',
        tool_use_id: `t${i}`,
        tool_input: { command: 'make test' },
        error: 'exit status 2',
      },
      claude,
    )
}

async function expectAccessible(page: Page) {
  for (const width of [390, 1360]) {
    await page.setViewportSize({ width, height: 844 })
    expect(await accessibilityViolations(page)).toEqual([])
    expect(await smallTargets(page)).toEqual([])
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
  }
}

test.describe('Safety', () => {
  test('limits freeze a session, the bar names the rule, and a lift is not undone', async ({ page, hub }) => {
    await claimHub(page, hub)
    await visit(page, '/settings/hub')
    await expect(now(page)).toContainText('The hub freezes nothing by itself.')
    await expect(section(page)).toContainText('None yet.')

    // With the keyboard alone.
    await section(page).getByLabel('Freeze a session that fails in a loop').focus()
    await page.keyboard.press('Space')
    await page.keyboard.press('Tab')
    await expect(section(page).getByLabel('Failures in a row')).toBeFocused()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('3')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Space')
    await page.keyboard.press('Tab')
    await expect(section(page).getByLabel('US dollars')).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(section(page).getByRole('status')).toHaveText('Saved. The limits apply now.')
    await expect(now(page)).toContainText(
      'A session is frozen after 3 equal failures in a row, and when it costs more than $10 in one hour.',
    )
    await expectAccessible(page)

    await fail(hub, 1, 3)
    const bar = page.getByTestId('freeze-bar')
    await expect(bar).toContainText('1 session of api is frozen')
    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar).toContainText('Hookback froze one session of api.')
    await expect(bar).toContainText('Bash failed 3 times in a row with the same arguments and error.')
    await expect(section(page).getByTestId('safety-freezes')).toContainText('still frozen')
    await bar.getByRole('button', { name: 'Resume' }).click()
    await expect(bar).toHaveCount(0)
    await expect(section(page).getByTestId('safety-freezes')).toContainText('resumed by mara')

    await hub.event('ApiRequest', { model: 'opus', cost_usd: 12.4 }, claude)
    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar).toContainText('Spent $12.40 of $10 in one hour.')
    await bar.getByRole('button', { name: 'Resume' }).click()
    await expect(bar).toHaveCount(0)
    await hub.event('ApiRequest', { model: 'opus', cost_usd: 0.5 }, claude)
    await hub.event('ApiRequest', { model: 'opus', cost_usd: 9.75 }, claude)
    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar, 'later spending counts alone').toContainText('Spent $10.25 of $10 in one hour.')
    await expect(section(page).getByTestId('safety-freezes').getByRole('listitem')).toHaveCount(3)
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page)
  })

  test('shows the limits to others, and why they can’t change them', async ({
    page,
    hub,
    browser,
    watch,
  }) => {
    await openAt(page, hub, '/settings/hub')
    await expect(section(page).getByTestId('sign-in-first')).toContainText('Become its owner to set limits.')
    await expect(section(page).getByRole('button', { name: 'Save limits' })).toBeDisabled()
    await expectAccessible(page)
    await claimHub(page, hub)
    const bo = await openInNewBrowser(browser, watch, atHubAddress(hub, await invitePerson(page, 'bo')))
    await expect(userBadge(bo)).toContainText('bo')
    await waitUntilLive(bo)
    await visit(bo, '/settings/hub')
    await expect(section(bo).getByTestId('safety-why')).toHaveText('Only admins can change these limits.')
    await expect(section(bo).getByRole('checkbox').first()).toBeDisabled()
    await expectAccessible(bo)
  })

  test('says that the flag overrules the setting', async ({ page }) => {
    const hub = await HubProcess.start(['-freeze-after', '4'])
    try {
      await claimHub(page, hub)
      await visit(page, '/settings/hub')
      await expect(now(page)).toContainText('after 4 equal failures in a row')
      await expect(section(page).getByTestId('safety-flag')).toContainText(
        'The hub was started with -freeze-after 4, which overrules this setting.',
      )
      await expect(section(page).getByLabel('Freeze a session that fails in a loop')).toBeDisabled()
      await expect(section(page).getByLabel('Freeze a session that spends too much')).toBeEnabled()
      await expectAccessible(page)
    } finally {
      await hub.remove()
    }
  })
})
