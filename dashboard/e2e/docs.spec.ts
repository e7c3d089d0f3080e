import { expect, test } from './fixtures.ts'

test.describe('Documentation', () => {
  test('is readable and searchable within the page on a locked hub, without a sign-in', async ({
    page,
    hub,
  }) => {
    await page.goto(`${hub.url}/docs`)
    await page.getByRole('main').getByRole('link', { name: 'Coding agents' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Coding agents')
    await page.getByRole('searchbox').fill('trusted hub')
    await page.getByRole('searchbox').press('Enter')
    await page.getByRole('link', { name: 'Coding agents › The trusted hub' }).click()
    await expect(page.getByRole('heading', { name: 'The trusted hub' })).toBeInViewport()
    await page.goto(`${hub.url}/docs/nothing`)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Page not found')
    await page.getByRole('link', { name: 'All documents' }).first().click()
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('Documentation')
  })

  test('describes every route at /docs/api by the hub alone', async ({ page, hub }) => {
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(`${hub.url}/docs/api`)
    await page.getByRole('link', { name: 'POST /events/{id}/respond', exact: true }).click()
    await expect(
      page.getByRole('heading', { name: 'POST /events/{id}/respond', exact: true }),
    ).toBeInViewport()
    await expect(page.getByText('"choice": "Vitest"').first()).toBeAttached()
    await expect(page.getByRole('cell', { name: '409' }).first()).toBeAttached()
    expect(asked.filter((url) => !url.startsWith(hub.url) && !url.startsWith('data:'))).toEqual([])
  })
})
