import { expectPlainText, watchForFreeze, postHostileEvents } from './hostile-events.ts'
import { expect, openAt, test, visit } from './fixtures.ts'

const screens = [
  '/',
  '/now',
  '/stream',
  '/sessions',
  '/overview',
  '/policy',
  '/?tab=automatic',
  '/team/people',
  '/team/coverage',
  '/team/tokens',
  '/team/audit',
  '/settings/agents',
  '/settings/preferences',
  '/settings/hub',
]

test.describe('Content security policy', () => {
  test('forbids inline scripts and styles on every path', async ({ hub }) => {
    for (const path of screens) {
      const policy = (await fetch(hub.url + path, { headers: { Accept: 'text/html' } })).headers.get(
        'content-security-policy',
      )
      expect(policy, path).toContain(`require-trusted-types-for 'script'`)
      expect(policy, path).toContain(`default-src 'none'`)
      expect(policy, path).not.toContain('unsafe')
    }
  })

  test('fails a test that violates it', async ({ page, hub }) => {
    test.fail()
    await openAt(page, hub)
    await page.evaluate(() => document.createElement('b').setAttribute('style', 'color: red'))
    await page.evaluate(() => {
      const script = document.createElement('script')
      try {
        script.setAttribute('src', '/x.js')
      } catch {
        // Trusted Types throw here; the test must fail even so.
      }
    })
  })

  // hostile-requests.spec.ts covers each request by itself.
  test('shows hostile events as text on every screen without freezing or overflowing', async ({
    page,
    hub,
  }) => {
    await openAt(page, hub, '/stream')
    const { ids, asking } = await postHostileEvents(hub)
    await hub.event('A kind nobody knows', { what: ['ever'] }, { source_app: 'stranger' })
    await expect(page.getByText('A kind nobody knows')).toBeVisible()
    const expectNoFreeze = await watchForFreeze(page)
    for (const path of [...screens, `/inbox/${asking[0]}`]) {
      await visit(page, path)
      await expectPlainText(page, `${path} at 1360 px`)
    }
    await page.setViewportSize({ width: 390, height: 844 })
    for (const path of [...screens, `/inbox/${asking[0]}`, `/r/${asking[0]}`]) {
      await visit(page, path)
      await expectPlainText(page, `${path} at 390 px`)
    }
    for (const id of ids) {
      await visit(page, `/stream?event=${id}`)
      await expect(page.getByTestId('drawer')).toBeVisible()
      await expectPlainText(page, `event ${id} at 390 px`)
    }
    await visit(page, '/sessions')
    const links = await page
      .locator('main a[href^="/sessions/"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute('href')!))
    for (const path of new Set(links)) {
      await visit(page, path)
      await expectPlainText(page, path)
    }
    await expectNoFreeze()
    // A page that starts with such events, as after a reload, reads them in another order.
    for (const path of [
      ...screens,
      `/inbox/${asking[0]}`,
      `/r/${asking[0]}`,
      `/hitl/${asking[0]}/vote`,
      '/nowhere',
    ]) {
      await page.goto(hub.url + path)
      await expect(page.getByRole('heading', { level: 1 }).first()).toBeAttached()
      await expectPlainText(page, `${path} after a reload`)
    }
  })
})
