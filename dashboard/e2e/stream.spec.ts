import { expect, openAt, live, test } from './page.ts'

const rows = '[data-testid=rows] [role=row]'

test('events stream in; scrolling up pauses, the pill counts, End follows', async ({ page, hub }) => {
  await hub.batch(200, (i) => ({ payload: { tool_name: 'Bash', tool_input: { command: `echo ${i}` } } }))
  await openAt(page, hub, '/stream')
  await expect(page.getByText('echo 199', { exact: true })).toBeInViewport()
  await hub.batch(1, () => ({ payload: { tool_input: { command: 'live one' } } }))
  await expect(page.getByText('live one')).toBeInViewport()

  await page.getByTestId('rows').hover()
  await page.mouse.wheel(0, -600)
  await expect(page.getByTestId('pill')).toContainText('Paused')
  const before = await page.locator(rows).allTextContents()
  await hub.batch(30, (i) => ({ payload: { tool_input: { command: `later ${i}` } } }))
  await expect(page.getByTestId('pill')).toContainText('30 new')
  expect(await page.locator(rows).allTextContents()).toEqual(before)
  await page.keyboard.press('End')
  await expect(page.getByText('later 29', { exact: true })).toBeInViewport()
  await expect(page.getByTestId('pill')).toHaveCount(0)

  await page.keyboard.press('Space')
  await expect(page.getByTestId('pill')).toBeVisible()
  await page.keyboard.press('Space')
  await expect(page.getByTestId('pill')).toHaveCount(0)
})

test('a filter is typed or clicked together, and stands in the address', async ({ page, hub }) => {
  await hub.batch(40, (i) => ({
    source_app: i % 2 ? 'infra' : 'api',
    hook_event_type: i % 4 === 1 ? 'PostToolUse' : 'PreToolUse',
    payload: { tool_input: { command: `echo ${i}` } },
  }))
  await openAt(page, hub, '/stream')
  await page.keyboard.press('/')
  await page.keyboard.type('type:Post*')
  await expect(page.getByText('10 events')).toBeVisible()
  await page.getByLabel('Filter', { exact: true }).fill('')
  await page.locator(rows).getByRole('button', { name: 'infra' }).first().click()
  await expect(page.getByLabel('Filter', { exact: true })).toHaveValue('agent:infra')
  await expect(page.getByText('20 events of 40')).toBeVisible()
  await page.getByLabel('Filter', { exact: true }).fill('agent:infra -"echo 3"')
  await expect(page.getByText('14 events of 40')).toBeVisible()
  await page.reload()
  await live(page)
  await expect(page.getByText('14 events of 40')).toBeVisible()
  await page.getByLabel('Filter', { exact: true }).fill('/(/')
  await expect(page.getByText('is not a regular expression')).toBeVisible()
})

test('an event opens beside the rows, whole, even when the stream left its payload out', async ({
  page,
  hub,
}) => {
  const big = await hub.event('PostToolUse', {
    tool_name: 'Read',
    note: 'x'.repeat(100_000),
    last: 'the very end',
  })
  const after = await hub.event('Stop')
  await openAt(page, hub, '/stream')
  await page.locator(`#event-${big}`).click()
  const drawer = page.getByTestId('drawer')
  await expect(drawer).toContainText('the very end')
  await expect(page.getByTestId('pill')).toBeVisible()
  await drawer.getByRole('tab', { name: 'Raw' }).click()
  await expect(drawer.getByRole('tabpanel')).toContainText('"tool_name": "Read"')
  await expect(page).toHaveURL(new RegExp(`event=${big}`))
  await page.getByTestId('rows').focus()
  await page.keyboard.press('ArrowDown')
  await expect(page).toHaveURL(new RegExp(`event=${after}`))
  await page.keyboard.press('Escape')
  await expect(drawer).toHaveCount(0)
  await expect(page.getByTestId('pill')).toHaveCount(0)
  await page.goto(`${hub.url}/stream?event=${big}`)
  await expect(drawer).toContainText('the very end')
})

test('copies an event as JSON and as a command that posts it again', async ({ page, context, hub }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const id = await hub.event('PreToolUse', { tool_input: { command: `echo 'it'` } })
  await openAt(page, hub, `/stream?event=${id}`)
  await page.getByTestId('drawer').getByRole('button', { name: 'curl' }).click()
  const command = await page.evaluate(() => navigator.clipboard.readText())
  expect(command).toContain(`${hub.url}/events`)
  expect(command).toContain(`'\\''it'\\''`)
  await page.getByTestId('drawer').getByRole('button', { name: 'JSON' }).click()
  await expect
    .poll(async () => JSON.parse(await page.evaluate(() => navigator.clipboard.readText())).id)
    .toBe(id)
})

test('history beyond the page comes from the hub', async ({ page, hub }) => {
  await hub.batch(700, (i) => ({ payload: { tool_input: { command: `echo ${i}` } } }))
  await openAt(page, hub, '/stream')
  await expect(page.getByText('300 events')).toBeVisible()
  await page.getByRole('button', { name: 'Older events' }).click()
  await expect(page.getByText('500 events')).toBeVisible()
  await page.getByTestId('rows').focus()
  await page.keyboard.press('Home')
  await expect(page.getByText('700 events')).toBeVisible()
  await page.getByRole('button', { name: 'Older events' }).click()
  await expect(page.getByText('The history begins here')).toBeVisible()
})

test('history is searched as the page filters: whatever the case, and on until something fits', async ({
  page,
  hub,
}) => {
  await hub.batch(3, () => ({ source_app: 'Infra', hook_event_type: 'Rare' }))
  await hub.batch(900, (i) => ({ payload: { tool_input: { command: `echo ${i}` } } }))
  for (const filter of ['agent:INFRA', 'type:ra*']) {
    await openAt(page, hub, `/stream?q=${encodeURIComponent(filter)}`)
    await page.getByRole('button', { name: 'Look through the history' }).click()
    await expect(page.getByText('3 events of 300')).toBeVisible()
    await page.getByRole('button', { name: 'Older events' }).click()
    await expect(page.getByText('The history begins here')).toBeVisible()
  }
})

test('a restart of the hub leaves no gap and no double', async ({ page, hub }) => {
  await hub.batch(5, (i) => ({ payload: { tool_input: { command: `before ${i}` } } }))
  await openAt(page, hub, '/stream')
  await expect(page.getByText('5 events')).toBeVisible()
  await hub.stop()
  await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
  await hub.restart()
  await hub.batch(5, (i) => ({ payload: { tool_input: { command: `after ${i}` } } }))
  await live(page)
  await expect(page.getByText('10 events')).toBeVisible()
  for (const i of [0, 1, 2, 3, 4]) await expect(page.getByText(`after ${i}`, { exact: true })).toHaveCount(1)
})

test('a request in the stream leads to the inbox and shows how it ended', async ({ page, hub, agent }) => {
  const { id } = await agent.ask(hub, { question: 'May I deploy?' })
  await openAt(page, hub, '/stream')
  await expect(page.locator(`#event-${id}`)).toContainText('needs you')
  await hub.post(`/events/${id}/respond`, { permission: true })
  await expect(page.locator(`#event-${id}`)).toContainText('Approved')
  await page.locator(`#event-${id}`).click()
  await page.getByRole('link', { name: /open in the inbox/ }).click()
  await expect(page).toHaveURL(new RegExp(`/inbox/${id}`))
})
