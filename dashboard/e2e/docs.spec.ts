import { expect, test } from './fixtures.ts'

test.describe('API reference', () => {
  // The watch fixture (fixtures.ts) checks the content security policy.
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`is served at /docs by the hub alone, ${colorScheme} theme`, async ({ page, hub }) => {
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.emulateMedia({ colorScheme })
      await page.goto(`${hub.url}/docs`)
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
    })
  }

  test('sends a test request from /docs', async ({ page, hub }) => {
    await page.goto(`${hub.url}/docs#/Operation/getHealthz`)
    const health = page.locator('#operations-Operation-getHealthz')
    await health.getByRole('button', { name: 'Try it out' }).click()
    await health.getByRole('button', { name: 'Execute' }).click()
    await expect(health.locator('.live-responses-table')).toContainText('"status": "ok"')
  })
})
