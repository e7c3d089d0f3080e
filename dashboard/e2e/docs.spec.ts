import { accessibilityViolations, horizontalOverflow } from './accessibility.ts'
import { expect, test } from './fixtures.ts'

test.describe('API reference', () => {
  // The watch fixture (fixtures.ts) checks the content security policy.
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is served at /docs/api by the hub alone and sends a request, ${colorScheme} theme`, async ({
      page,
      hub,
    }) => {
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.emulateMedia({ colorScheme })
      await page.goto(`${hub.url}/docs/api`)
      const respond = page.locator('#operations-Events-postEventsIdRespond')
      await expect(respond).toContainText('Answer a question')
      await expect(page.locator('html.dark-mode')).toHaveCount(colorScheme === 'dark' ? 1 : 0)
      await page.locator('#operations-tag-Requests').getByRole('button').first().click() // collapses the section
      await respond.getByRole('button').first().click()
      await expect(respond.locator('.body-param__example')).toContainText('"choice": "Vitest"')
      await expect(respond.getByRole('cell', { name: '409' })).toBeVisible()
      await expect(respond).toContainText('"code": "decided"')
      expect(asked.filter((url) => !url.startsWith(hub.url) && !url.startsWith('data:'))).toEqual([])
      await respond.scrollIntoViewIfNeeded()
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/docs-${colorScheme}.png` })

      const health = page.locator('#operations-Operation-getHealthz')
      if (!(await health.isVisible()))
        await page.locator('#operations-tag-Operation').getByRole('button').first().click()
      await health.getByRole('button').first().click()
      await health.getByRole('button', { name: 'Try it out' }).click()
      await health.getByRole('button', { name: 'Execute' }).click()
      await expect(health.locator('.live-responses-table')).toContainText('"status": "ok"')
    })
  }
})

test.describe('Documentation', () => {
  test('is readable and searchable on a locked hub, without a sign-in', async ({ page, hub }) => {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(`${hub.url}/docs`)
      await page.getByRole('navigation').getByRole('link', { name: 'Coding agents' }).click()
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Coding agents')
      expect(await accessibilityViolations(page)).toEqual([])
      await page.getByRole('searchbox').fill('trusted hub')
      await page.getByRole('searchbox').press('Enter')
      await page.getByRole('link', { name: 'Coding agents › The trusted hub' }).click()
      await expect(page.getByRole('heading', { name: 'The trusted hub' })).toBeInViewport()
    }
    await page.setViewportSize({ width: 390, height: 800 })
    await page.goto(`${hub.url}/docs/operations`)
    expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
  })
})
