import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { expect, openAt, row, test, visit, waitUntilLive } from './fixtures.ts'
import { claimHub, invitePerson, openInNewBrowser, userBadge } from './people.ts'
import { lazyAppText } from '../src/app/lazyText.ts'

const tabs = {
  '/team/people': 'People',
  '/team/tokens': 'Tokens',
  '/team/coverage': 'Coverage',
  '/team/audit': 'Audit log',
  '/settings/agents': 'Connect your agents',
  '/settings/preferences': 'Preferences',
  '/settings/hub': 'Hub',
}

test.describe('Team', () => {
  test('an address without a tab opens the first one', async ({ page, hub }) => {
    for (const [from, to, title] of [
      ['/settings', '/settings/agents', 'Connect your agents'],
      ['/settings#hub', '/settings/hub#hub', 'Hub'],
      ['/team', '/team/people', 'People'],
    ] as const) {
      await openAt(page, hub, from)
      await expect(page).toHaveURL(hub.url + to)
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
      await openAt(page, hub, '/')
      await visit(page, from)
      await expect(page).toHaveURL(hub.url + to)
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
      await page.goBack()
      await expect(page).toHaveURL(hub.url + '/')
    }
  })

  test('the rail leads to the tabs, by keyboard as well', async ({ page, hub }) => {
    await openAt(page, hub)
    await page.keyboard.press('g')
    await page.keyboard.press('t')
    await expect(page).toHaveURL(hub.url + '/team/people')
    const rail = page.getByRole('navigation', { name: 'Main' })
    await expect(rail.getByRole('link', { name: 'Team' })).toHaveAttribute('aria-current', 'page')
    const audit = page.getByRole('navigation', { name: 'Team' }).getByRole('link', { name: 'Audit' })
    await audit.focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible()
    await expect(audit).toBeFocused()
    await expect(audit).toHaveAttribute('aria-current', 'page')
  })

  for (const width of [1360, 390]) {
    test(`has no accessibility violations on any tab, light or dark, at ${width} px`, async ({
      page,
      hub,
    }) => {
      await page.setViewportSize({ width, height: 844 })
      await openAt(page, hub)
      const check = async (who: string) => {
        for (const [path, title] of Object.entries(tabs)) {
          await visit(page, path)
          await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
          expect.soft(await accessibilityViolations(page), `${path}, ${who}`).toEqual([])
          expect.soft(await horizontalOverflow(page), `${path}, ${who}`).toBeLessThanOrEqual(0)
          expect.soft(await smallTargets(page), `${path}, ${who}`).toEqual([])
        }
      }
      await check('signed out')
      await page.goto(hub.signInLink)
      await page.getByLabel('Your name').fill('mara')
      await page.keyboard.press('Enter')
      await expect(userBadge(page)).toContainText('mara')
      await invitePerson(page, 'noor')
      await check('signed in')
    })
  }

  test('a locked hub asks visitors to sign in, and shows names to signed-in people only', async ({
    page,
    hub,
    agent,
    browser,
    watch,
  }) => {
    await claimHub(page, hub)
    const visitor = await openInNewBrowser(browser, watch, hub.url)
    await waitUntilLive(visitor)
    const notice = visitor.getByTestId('hub-locked')
    await expect(notice).toContainText('Sign in to answer.')
    await expect(visitor.getByRole('heading', { name: 'This hub is locked' })).toBeVisible()
    await expect(visitor.getByRole('link', { name: /Connect agents|test request/ })).toHaveCount(0)
    expect(await accessibilityViolations(visitor)).toEqual([])

    const { id } = await agent.ask(hub, { question: 'Deploy?' })
    await agent.ask(hub, { question: 'Delete?' })
    await expect(notice).toContainText('2 requests are waiting. Sign in to answer.')
    await notice.getByRole('button', { name: 'Sign in' }).click()
    await expect(visitor.getByRole('dialog', { name: 'Sign in' })).toBeVisible()

    const link = await invitePerson(page, 'grace')
    const grace = await openInNewBrowser(browser, watch, link)
    await expect(userBadge(grace)).toContainText('grace')
    await expect(grace.getByTestId('hub-locked')).toHaveCount(0)
    await visit(grace, `/inbox/${id}`)
    await visit(page, `/inbox/${id}`)
    await expect(page.getByTestId('other-viewers')).toContainText('grace is looking.')
    await expect(row(page, id)).toContainText('grace is looking.')
    expect(await accessibilityViolations(page)).toEqual([])
    await visitor.goto(`${hub.url}/inbox/${id}`)
    await waitUntilLive(visitor)
    await expect(visitor.getByTestId('other-viewers')).toContainText('Also open on 2 other screens.')
  })

  test('the palette opens the invitation, and finds people and settings', async ({ page, hub }) => {
    await claimHub(page, hub)
    await invitePerson(page, 'grace')
    const find = async (text: string) => {
      await page.keyboard.press('Control+k')
      await expect(page.getByTestId('palette').getByRole('combobox')).toBeFocused()
      await page.keyboard.type(text)
    }
    const chosen = page.getByTestId('palette').getByRole('option', { selected: true })
    await find('invite')
    await page.keyboard.press('Enter')
    await expect(page.getByLabel('Name', { exact: true })).toBeFocused()
    await expect(page).toHaveURL(`${hub.url}/team/people`)
    await find('grace')
    await expect(chosen).toContainText('grace')
    await page.keyboard.press('Escape')
    await expect(page.getByTestId('palette')).toHaveCount(0)
    for (const [action, field] of [
      ['create a token', /^Name/],
      ['new alert', /^Alert when/],
      ['add a notification channel', /^Kind/],
    ] as const) {
      await find(action)
      await page.keyboard.press('Enter')
      await expect(page.locator('main').getByLabel(field).first()).toBeFocused()
      await expect(page).not.toHaveURL(/new=/)
    }
    for (const [tab, settings] of Object.entries(lazyAppText.palette.settings))
      for (const setting of Object.keys(settings)) {
        await find(setting)
        await page.keyboard.press('Enter')
        await expect(page).toHaveURL(`${hub.url}/settings/${tab}`)
        const focused = page
          .locator('main :is(fieldset, label, section):focus-within')
          .filter({ hasText: setting })
        await expect(focused.last().getByText(setting).first()).toBeInViewport()
      }
    await find('trusted hub')
    await page.keyboard.press('ArrowUp') // the last entry
    await page.keyboard.press('Enter')
    await expect(page.getByRole('link', { name: 'Coding agents › The trusted hub' })).toBeVisible()
  })

  test('inviting a person takes three steps', async ({ page, hub, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: hub.url })
    await claimHub(page, hub)
    await visit(page, '/team/people')
    await page.getByRole('button', { name: 'Invite' }).click() // step 1
    await page.keyboard.type('noor') // step 2
    await page.keyboard.press('Enter')
    const once = page.getByTestId('one-time-secret')
    await expect(page.getByTestId('link-reach')).toContainText('only works on this computer')
    await once.getByRole('button', { name: 'Copy link' }).click() // step 3
    expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('#sign-in=')
  })
})
