import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import {
  openInNewBrowser,
  atHubAddress,
  userBadge,
  callApi,
  invitePerson,
  claimHub,
  unlockHub,
} from './people.ts'
import { choose, detail, expect, waitUntilLive, openAt, test } from './fixtures.ts'

test.describe('People', () => {
  test('the first person to sign in owns the hub, stays signed in, and leaves no code in the URL', async ({
    page,
    hub,
    browser,
    watch,
  }) => {
    await openAt(page, hub)
    await expect(userBadge(page)).toContainText('Unlocked: some local programs can answer')
    await claimHub(page, hub)
    expect(page.url()).toBe(`${hub.url}/`)
    await expect(userBadge(page)).toContainText('Owner')
    await page.reload()
    await expect(userBadge(page)).toContainText('mara')
    const late = await openInNewBrowser(browser, watch, hub.signInLink)
    await expect(late.getByTestId('sign-in-failed')).toContainText('used')
    await expect(late.getByTestId('sign-in-failed')).toContainText(/Ask an admin|prints/)
    await late.getByRole('button', { name: 'Close' }).click()
    await expect(userBadge(late)).toContainText('Sign in')
  })

  test('locking the hub keeps others read-only and tells them why', async ({
    page,
    hub,
    agent,
    browser,
    watch,
  }) => {
    const { id, answer } = await agent.ask(hub, { question: 'Ship it?' })
    await claimHub(page, hub)
    await unlockHub(page)
    await userBadge(page).getByRole('button', { name: 'Lock' }).click()
    await expect(userBadge(page)).not.toContainText('can answer')
    const other = await openInNewBrowser(browser, watch, `${hub.url}/inbox/${id}`)
    await waitUntilLive(other)
    await expect(detail(other, id)).toContainText('Ship it?')
    await expect(other.getByTestId('cannot-answer')).toContainText('The hub is locked')
    await expect(detail(other, id).getByRole('button', { name: /^Approve/ })).toHaveCount(0)
    const refused = await callApi(other, 'POST', `/events/${id}/respond`, { permission: true })
    expect(refused).toMatchObject({ code: 'sign_in' })
    await other.getByTestId('cannot-answer').getByRole('button', { name: 'Sign in' }).click()
    await expect(other.getByRole('dialog', { name: 'Sign in' })).toBeVisible()
    // The test process started both the browser and the agent, so a locked hub would refuse the
    // answer as a self-approval.
    await unlockHub(page)
    await choose(page, id)
    await page.keyboard.press('a')
    expect(await answer).toMatchObject({ permission: true, respondedBy: { name: 'mara', verified: true } })
    await expect(detail(page, id).getByTestId('settled')).toContainText('signed in')
    await expect(detail(page, id).getByTestId('settled')).toContainText('Possible self-approval')
  })

  test('an invited person signs in by link; on revocation their page reports it and keeps the draft', async ({
    page,
    hub,
    agent,
    browser,
    watch,
  }) => {
    const { id } = await agent.ask(hub, { type: 'question', question: 'What name?' })
    await claimHub(page, hub)
    await page.goto(`${hub.url}/team/people`)
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByLabel('Name', { exact: true }).fill('noor')
    await page.getByRole('button', { name: 'Create link' }).click()
    const once = page.getByTestId('one-time-secret')
    const link = await once.locator('code').innerText()
    await once.getByRole('button', { name: 'Done' }).click()
    await expect(page.locator('main')).not.toContainText(link)

    const noor = await openInNewBrowser(browser, watch, atHubAddress(hub, link))
    await expect(userBadge(noor)).toContainText('noor')
    await waitUntilLive(noor)
    await choose(noor, id)
    await detail(noor, id).getByLabel('Your answer').fill('hookback')

    await page.reload()
    const hers = page.getByRole('listitem').filter({ hasText: 'noor' }).filter({ hasText: 'with a link' })
    await hers.getByRole('button', { name: /^Revoke/ }).click()
    await hers.getByRole('button', { name: /^Confirm revoke/ }).click()
    await expect(noor.getByTestId('session-expired')).toBeVisible()
    await expect(noor.getByTestId('session-expired')).toContainText('Your draft is kept')
    await noor.getByRole('button', { name: 'Continue signed out' }).click()
    await expect(noor.getByTestId('session-expired')).toHaveCount(0)
    await expect(noor.getByTestId('cannot-answer')).toContainText('The hub is locked')
    await unlockHub(page)
    await noor.reload()
    await expect(detail(noor, id).getByLabel('Your answer')).toHaveValue('hookback')
  })

  test('signing in or out reaches the other tabs', async ({ page, hub, context, watch }) => {
    const second = await context.newPage()
    await watch(second)
    await openAt(second, hub)
    await claimHub(page, hub)
    await expect(userBadge(second)).toContainText('mara')
    await second.goto(`${hub.url}/team/people`)
    await second.getByRole('region', { name: 'You' }).getByRole('button', { name: 'Sign out' }).click()
    await expect(userBadge(page)).toContainText('Sign in')
    await expect(userBadge(page)).not.toContainText('mara')
    await expect(page.getByTestId('session-expired')).toHaveCount(0)
  })

  test('an agent token is shown once, is limited to its names, and stops working when revoked', async ({
    page,
    hub,
  }) => {
    await claimHub(page, hub)
    await page.goto(`${hub.url}/team/tokens`)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByLabel('Name', { exact: true }).fill('build-server')
    await page.getByLabel('May post as').fill('shop-*')
    await page.getByRole('button', { name: 'Create token' }).click()
    const once = page.getByTestId('one-time-secret')
    const secret = await once.locator('code').first().innerText()
    await expect(once).toContainText(`export HOOKBACK_TOKEN=${secret}`)
    const posting = async (app: string) => {
      const event = { source_app: app, session_id: 's', hook_event_type: 'Stop', payload: {} }
      const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` }
      return (await fetch(`${hub.url}/events`, { method: 'POST', headers, body: JSON.stringify(event) }))
        .status
    }
    expect([await posting('shop-web'), await posting('bank')]).toEqual([200, 403])
    await page.reload()
    await expect(page.getByTestId('one-time-secret')).toHaveCount(0)
    const row = page.getByRole('listitem').filter({ hasText: 'build-server' })
    await expect(row).toContainText('posts as shop-*')
    await expect(row).toContainText(/used/)
    await row.getByRole('button', { name: /^Revoke/ }).click()
    await row.getByRole('button', { name: /^Confirm revoke/ }).click()
    await expect(row).toHaveCount(0)
    expect(await posting('shop-web')).toBe(401)
  })

  for (const width of [1360, 390]) {
    test(`the screens have no accessibility violations, light or dark, at ${width} px`, async ({
      page,
      hub,
    }) => {
      await page.setViewportSize({ width, height: 844 })
      await page.goto(hub.signInLink)
      await expect(page.getByLabel('Your name')).toBeFocused()
      expect.soft(await accessibilityViolations(page), 'welcome').toEqual([])
      await page.getByLabel('Your name').fill('mara')
      await page.keyboard.press('Enter')
      await expect(userBadge(page)).toContainText('mara')
      await page.goto(`${hub.url}/team/people`)
      await expect(page.getByRole('button', { name: 'Invite' })).toBeVisible()
      await invitePerson(page, 'noor')
      for (const [path, button] of [
        ['/team/people', 'Invite'],
        ['/team/tokens', 'Create token'],
      ] as const) {
        await page.goto(hub.url + path)
        await page.getByRole('button', { name: button }).click()
        expect.soft(await accessibilityViolations(page), path).toEqual([])
        expect.soft(await horizontalOverflow(page), path).toBeLessThanOrEqual(0)
        expect.soft(await smallTargets(page), path).toEqual([])
      }
    })
  }
})
