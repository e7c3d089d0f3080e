import { faults, overflow, smallTargets } from './barriers.ts'
import { another, at, badge, call, invited, own } from './people.ts'
import { choose, detail, expect, live, openAt, test } from './page.ts'

test('the first one who signs in owns the hub: a name, no code left in the address, and it lasts', async ({
  page,
  hub,
  browser,
  watch,
}) => {
  await openAt(page, hub)
  await expect(badge(page)).toContainText('Anyone on this machine can answer')
  await own(page, hub)
  expect(page.url()).toBe(`${hub.url}/`)
  await expect(badge(page)).toContainText('Owner')
  await page.reload()
  await expect(badge(page)).toContainText('mara')
  const late = await another(browser, watch, hub.signInLink)
  await expect(late.getByTestId('sign-in-failed')).toContainText('used')
  await expect(late.getByTestId('sign-in-failed')).toContainText(/Ask an admin|prints/)
  await late.getByRole('button', { name: 'Close' }).click()
  await expect(badge(late)).toContainText('Sign in')
})

test('locked with one click: others read, and are told why they can’t answer', async ({
  page,
  hub,
  agent,
  browser,
  watch,
}) => {
  const { id, answer } = await agent.ask(hub, { question: 'Ship it?' })
  await own(page, hub)
  await badge(page).getByRole('button', { name: 'Lock' }).click()
  await expect(badge(page)).toContainText('Only signed-in people can answer')
  const other = await another(browser, watch, `${hub.url}/inbox/${id}`)
  await live(other)
  await expect(detail(other, id)).toContainText('Ship it?')
  await expect(other.getByTestId('may-not')).toContainText('The hub is locked')
  await expect(detail(other, id).getByRole('button', { name: /^Approve/ })).toHaveCount(0)
  const refused = await call(other, 'POST', `/events/${id}/respond`, { permission: true })
  expect(refused).toMatchObject({ code: 'sign_in' })
  await other.getByTestId('may-not').getByRole('button', { name: 'Sign in' }).click()
  await expect(other.getByRole('dialog', { name: 'Sign in' })).toBeVisible()
  // The browser of a test descends from the program that asked: a locked hub would not have it.
  await badge(page).getByRole('button', { name: 'Unlock' }).click()
  await expect(badge(page)).toContainText('Anyone on this machine can answer')
  await choose(page, id)
  await page.keyboard.press('a')
  expect(await answer).toMatchObject({ permission: true, respondedBy: { name: 'mara', verified: true } })
  await expect(detail(page, id).getByTestId('settled')).toContainText('signed in')
  await expect(detail(page, id).getByTestId('settled')).toContainText('Possible self-approval')
})

test('an invited person signs in by their link; revoked, their page is told at once and keeps its draft', async ({
  page,
  hub,
  agent,
  browser,
  watch,
}) => {
  const { id } = await agent.ask(hub, { type: 'question', question: 'What name?' })
  await own(page, hub)
  await page.goto(`${hub.url}/settings/people`)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Name', { exact: true }).fill('noor')
  await page.getByRole('button', { name: 'Create link' }).click()
  const once = page.getByTestId('once')
  const link = await once.locator('code').innerText()
  await once.getByRole('button', { name: 'Done' }).click()
  await expect(page.locator('main')).not.toContainText(link)

  const noor = await another(browser, watch, at(hub, link))
  await expect(badge(noor)).toContainText('noor')
  await live(noor)
  await choose(noor, id)
  await detail(noor, id).getByLabel('Your answer').fill('hookback')

  await page.reload()
  const hers = page.getByRole('listitem').filter({ hasText: 'noor' }).filter({ hasText: 'with a link' })
  await hers.getByRole('button', { name: /^Revoke/ }).click()
  await hers.getByRole('button', { name: /^Confirm revoke/ }).click()
  await expect(noor.getByTestId('ended')).toBeVisible()
  await expect(noor.getByTestId('ended')).toContainText('Your draft is kept')
  await noor.getByRole('button', { name: 'Continue signed out' }).click()
  await expect(noor.getByTestId('ended')).toHaveCount(0)
  await expect(detail(noor, id).getByLabel('Your answer')).toHaveValue('hookback')
})

test('signing in and out in one tab reaches the others', async ({ page, hub, context, watch }) => {
  const second = await context.newPage()
  await watch(second)
  await openAt(second, hub)
  await own(page, hub)
  await expect(badge(second)).toContainText('mara')
  await second.goto(`${hub.url}/settings/people`)
  await second.getByRole('region', { name: 'You' }).getByRole('button', { name: 'Sign out' }).click()
  await expect(badge(page)).toContainText('Sign in')
  await expect(badge(page)).not.toContainText('mara')
  await expect(page.getByTestId('ended')).toHaveCount(0)
})

test('an agent’s token is shown once, posts under its own names, and is over once revoked', async ({
  page,
  hub,
}) => {
  await own(page, hub)
  await page.goto(`${hub.url}/settings/people`)
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByLabel('Name', { exact: true }).fill('build-server')
  await page.getByLabel('May post as').fill('shop-*')
  await page.getByRole('button', { name: 'Create token' }).click()
  const once = page.getByTestId('once')
  const secret = await once.locator('code').first().innerText()
  await expect(once).toContainText(`export HOOKBACK_TOKEN=${secret}`)
  const posting = async (app: string) => {
    const event = { source_app: app, session_id: 's', hook_event_type: 'Stop', payload: {} }
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${secret}` }
    return (await fetch(`${hub.url}/events`, { method: 'POST', headers, body: JSON.stringify(event) })).status
  }
  expect([await posting('shop-web'), await posting('bank')]).toEqual([200, 403])
  await page.reload()
  await expect(page.getByTestId('once')).toHaveCount(0)
  const row = page.getByRole('listitem').filter({ hasText: 'build-server' })
  await expect(row).toContainText('posts as shop-*')
  await expect(row).toContainText(/used/)
  await row.getByRole('button', { name: /^Revoke/ }).click()
  await row.getByRole('button', { name: /^Confirm revoke/ }).click()
  await expect(row).toHaveCount(0)
  expect(await posting('shop-web')).toBe(401)
})

for (const width of [1360, 390]) {
  test(`no barrier among people, light or dark, ${width} px`, async ({ page, hub }) => {
    await page.setViewportSize({ width, height: 844 })
    await page.goto(hub.signInLink)
    await expect(page.getByLabel('Your name')).toBeFocused()
    expect.soft(await faults(page), 'welcome').toEqual([])
    await page.getByLabel('Your name').fill('mara')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Leave it unlocked' }).click()
    await page.goto(`${hub.url}/settings/people`)
    await expect(page.getByRole('button', { name: 'Create token' })).toBeVisible()
    await invited(page, 'noor')
    await page.reload()
    await page.getByRole('button', { name: 'Invite' }).click()
    await page.getByRole('button', { name: 'Create token' }).click()
    expect.soft(await faults(page), 'people').toEqual([])
    expect.soft(await overflow(page)).toBeLessThanOrEqual(0)
    expect.soft(await smallTargets(page)).toEqual([])
  })
}
