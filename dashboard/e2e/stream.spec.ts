import { expect, openAt, waitUntilLive, test } from './fixtures.ts'

const rows = '[data-testid=rows] [role=row]'

test.describe('Stream', () => {
  test('follows new events, pauses on scrolling up, counts, and resumes with End', async ({ page, hub }) => {
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

  test('filters by typing or clicking and keeps the filter in the URL', async ({ page, hub }) => {
    await hub.batch(40, (i) => ({
      source_app: i % 2 ? 'infra' : 'api',
      hook_event_type: i % 4 === 1 ? 'PostToolUse' : 'PreToolUse',
      payload: { tool_input: { command: `echo ${i}` } },
    }))
    await openAt(page, hub, '/stream')
    await expect(page.getByLabel('Filter', { exact: true })).toBeVisible()
    await page.keyboard.press('/')
    await page.keyboard.type('type:Post*')
    await expect(page.getByText('10 rows')).toBeVisible()
    await page.getByLabel('Filter', { exact: true }).fill('')
    await page.keyboard.press('Escape')
    await page
      .locator(rows)
      .getByRole('button', { name: 'infra' })
      .first()
      .click({ modifiers: ['Alt'] })
    await expect(page.getByLabel('Filter', { exact: true })).toHaveValue('-agent:infra')
    await expect(page.getByText('20 rows of 40 events')).toBeVisible()
    await page.getByLabel('Filter', { exact: true }).fill('')
    await page.keyboard.press('Escape')
    await page.locator(rows).getByRole('button', { name: 'infra' }).first().click()
    await expect(page.getByLabel('Filter', { exact: true })).toHaveValue('agent:infra')
    await expect(page.getByText('20 rows of 40 events')).toBeVisible()
    await page.getByLabel('Filter', { exact: true }).fill('agent:infra -"echo 3"')
    await expect(page.getByText('14 rows of 40 events')).toBeVisible()
    await page.reload()
    await waitUntilLive(page)
    await expect(page.getByText('14 rows of 40 events')).toBeVisible()
    await page.getByLabel('Filter', { exact: true }).fill('/(/')
    await expect(page.getByText('is not a regular expression')).toBeVisible()
  })

  test('opens the whole event in the drawer even if the stream omitted its payload', async ({
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
    await drawer.getByRole('button', { name: 'Show all' }).click()
    await expect(drawer).toContainText('the very end')
    await expect(page.getByTestId('pill')).toBeVisible()
    await expect(drawer.getByRole('tabpanel')).toContainText('"tool_name": "Read"')
    await expect(page).toHaveURL(new RegExp(`event=${big}`))
    await page.getByTestId('rows').focus()
    await page.keyboard.press('ArrowDown')
    await expect(page).toHaveURL(new RegExp(`event=${after}`))
    await page.keyboard.press('Escape')
    await expect(drawer).toHaveCount(0)
    await expect(page.getByTestId('pill')).toHaveCount(0)
    await page.goto(`${hub.url}/stream?event=${big}`)
    await drawer.getByRole('button', { name: 'Show all' }).click()
    await expect(drawer).toContainText('the very end')
  })

  test('copies an event as JSON and as a curl command', async ({ page, context, hub }) => {
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

  test('loads older events on scrolling up and keeps the scroll position', async ({ page, hub }) => {
    await hub.batch(900, (i) => ({ payload: { tool_input: { command: `echo ${i}` } } }))
    await openAt(page, hub, '/stream')
    await expect(page.getByText('300 rows')).toBeVisible()
    await page.getByRole('button', { name: 'Older events' }).click()
    await expect(page.getByText('500 rows')).toBeVisible()
    await expect(page.getByText('echo 899', { exact: true })).toBeInViewport() // still following
    await page.getByTestId('rows').hover()
    await page.mouse.wheel(0, -2500)
    await expect(page.getByTestId('pill')).toBeVisible()
    // The row of event 405 starts 30 px below the top before and after the load.
    await expect(async () => {
      // A slow browser still scrolls by the wheel, and moves on from here.
      await page.evaluate(() => (document.querySelector('[data-testid=rows]')!.scrollTop = 90))
      await expect(page.getByText('700 rows')).toBeVisible({ timeout: 10_000 })
    }).toPass()
    const from = async (selector: string) => (await page.locator(selector).boundingBox())!.y
    expect((await from('#event-405')) - (await from('[data-testid=rows]'))).toBe(30)
    await page.getByTestId('rows').focus()
    await page.keyboard.press('Home')
    await expect(page.getByText('900 rows')).toBeVisible()
    await page.keyboard.press('Home')
    await expect(page.getByText('Start of the history')).toBeVisible()
  })

  test('searches the whole history with the same filter and cancels a search', async ({ page, hub }) => {
    await hub.batch(3, () => ({ source_app: 'Infra', hook_event_type: 'Rare' }))
    await hub.batch(900, (i) => ({ payload: { tool_input: { command: `echo ${i}` } } }))
    for (const filter of ['agent:INFRA', 'type:ra*']) {
      await openAt(page, hub, `/stream?q=${encodeURIComponent(filter)}`)
      await expect(page.getByText('3 rows of 300 events')).toBeVisible()
      await expect(page.getByText('Start of the history')).toBeVisible()
    }
    await hub.batch(1, () => ({ hook_event_type: 'Rare' }))
    await expect(page.getByText('4 rows of 301 events')).toBeVisible() // live events follow the matches

    const asked: string[] = []
    await page.route('**/events/search?*', async (route) => {
      const query = new URL(route.request().url()).searchParams
      const before = Number(query.get('before'))
      asked.push(`${query.get('filter')} ${before}`)
      const json = { events: [], searchedTo: before - 10, complete: false }
      await route.fulfill({ json }) // an endless history
    })
    await page.getByLabel('Filter', { exact: true }).fill('nowhere')
    await page.keyboard.press('Enter')
    await expect(page.getByText(/^Searched back to \d\d:\d\d:\d\d, 0 found/)).toBeVisible()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect(page.getByRole('button', { name: 'Search further back' })).toBeVisible()
    const soFar = asked.length
    await page.getByLabel('Filter', { exact: true }).fill('other')
    await page.keyboard.press('Enter')
    await expect.poll(() => asked.some((a) => a.startsWith('other'))).toBe(true)
    expect(asked.slice(soFar + 1).filter((a) => a.startsWith('nowhere'))).toEqual([])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  test('follows the events that match a filter without a gap, and counts them while paused', async ({
    page,
    hub,
  }) => {
    const command = (i: number) => ({
      source_app: i % 2 ? 'infra' : 'api',
      payload: { tool_input: { command: `echo ${i}` } },
    })
    await hub.batch(20, command)
    await openAt(page, hub, '/stream?q=agent:infra')
    await expect(page.getByText('10 rows of 20 events')).toBeVisible()
    for (let n = 0; n < 5; n++) await hub.batch(1000, command)
    await expect(page.getByText('2,510 rows of 5,020 events')).toBeVisible()
    await expect(page.getByText('echo 999', { exact: true }).last()).toBeInViewport()
    await page.keyboard.press('Space')
    await hub.batch(60, command)
    await expect(page.getByTestId('pill')).toContainText('30 new')
    await page.keyboard.press('End')
    await expect(page.getByText('2,540 rows of 5,080 events')).toBeVisible()
  })

  test('applies a time range from the URL to the history and new events', async ({ page, hub }) => {
    await hub.batch(400, (i) => ({ payload: { tool_input: { command: `old ${i}` } } }))
    await openAt(page, hub, '/stream')
    await page.getByRole('button', { name: /^Time range/ }).click()
    await page.getByRole('button', { name: 'last 5 minutes' }).click()
    await expect(page).toHaveURL(/since=5m/)
    // The page holds 300 events; the range starts earlier, so the rest is fetched.
    await expect(page.getByText('400 rows')).toBeVisible()
    await hub.batch(1, () => ({ payload: { tool_input: { command: 'just now' } } }))
    await expect(page.getByText('just now')).toBeInViewport()
    const far = (ms: number) => new Date(Date.now() + ms).toISOString()
    await openAt(page, hub, `/stream?from=${far(-7_200_000)}&to=${far(-3_600_000)}`)
    await expect(page.getByText('No events in this range')).toBeVisible()
    await expect(page.getByRole('button', { name: 'No older matches' })).toBeVisible()

    await openAt(page, hub, '/stream')
    await expect(page.getByText('301 rows').or(page.getByText('300 rows'))).toBeVisible()
    const chart = (await page.getByTestId('event-histogram').boundingBox())!
    await page.mouse.move(chart.x + chart.width * 0.1, chart.y + 10)
    await page.mouse.down()
    await page.mouse.move(chart.x + chart.width * 0.3, chart.y + 10)
    await page.mouse.up()
    await expect(page).toHaveURL(/from=20.*to=20/)
    await page.goBack()
    await expect(page).not.toHaveURL(/from=/)
  })

  test('opens a linked old event among its neighbors and scrolls on to the present', async ({
    page,
    context,
    hub,
  }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await hub.batch(900, (i) => ({
      source_app: i % 3 ? 'api' : 'infra',
      payload: { tool_input: { command: `echo ${i}` } },
    }))
    await openAt(page, hub, '/stream?event=100')
    const drawer = page.getByTestId('drawer')
    await expect(drawer).toContainText('echo 99')
    await expect(page.locator('#event-100')).toBeInViewport()
    await expect(page.locator('#event-99')).toBeInViewport()
    await expect(page.getByTestId('pill')).toContainText('Back to live')
    await page.keyboard.press('j')
    await expect(page).toHaveURL(/event=101/)
    await page.keyboard.press('k')
    await page.keyboard.press('k')
    await expect(page).toHaveURL(/event=99/)
    await drawer.getByRole('button', { name: 'Link' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`${hub.url}/stream?event=99`)
    await expect(drawer.getByRole('link', { name: 'Open in session' })).toHaveAttribute(
      'href',
      '/sessions/api/s1#99',
    )
    // Scrolling loads newer events without a gap until they meet the live ones.
    for (const n of ['400 rows', '900 rows']) {
      await page.evaluate(() => document.querySelector('[data-testid=rows]')!.scrollTo(0, 1e7))
      await expect(page.getByText(n)).toBeVisible()
    }
    await expect(page.getByTestId('pill')).toContainText('Paused')
    await page.keyboard.press('Escape')
    await page.keyboard.press('End')
    await expect(page.getByText('echo 899', { exact: true })).toBeInViewport()
    // With a filter, only matching neighbors are shown.
    await openAt(page, hub, '/stream?event=100&q=agent:infra')
    await expect(page.locator('#event-103')).toBeInViewport()
    await expect(page.locator('#event-101')).toHaveCount(0)
  })

  test('suggests filter terms, explains mistakes and keeps saved filters', async ({ page, hub }) => {
    await hub.batch(2, () => ({ source_app: 'infra', payload: { tool_name: 'Bash' } }))
    await openAt(page, hub, '/stream')
    const box = page.getByLabel('Filter', { exact: true })
    await page.keyboard.press('/')
    await page.keyboard.type('ag')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await expect(box).toHaveValue('agent:')
    await expect(page.getByText('2 rows of 2 events')).toBeVisible() // an incomplete term filters nothing
    await page.getByRole('option', { name: 'agent:infra' }).click()
    await expect(box).toHaveValue('agent:infra ')
    await page.getByRole('button', { name: 'Save this filter' }).click()
    await box.fill('agnet:infra')
    await expect(page.getByText('Did you mean “agent:”?')).toBeVisible()
    await page.reload()
    await waitUntilLive(page)
    await box.fill('')
    await page.getByRole('option', { name: 'agent:infra' }).click()
    await expect(box).toHaveValue('agent:infra')
    await expect(page.getByText('2 rows of 2 events')).toBeVisible()
  })

  test('has one row for a call', async ({ page, hub }) => {
    const pre = { tool_name: 'Bash', tool_use_id: 'u1', tool_input: { command: 'make' } }
    await hub.batch(100, (i) => ({ model_name: 'opus', payload: { tool_input: { command: `echo ${i}` } } }))
    const call = await hub.event('PreToolUse', pre)
    const post = await hub.event('PostToolUse', pre)
    await openAt(page, hub, '/stream')
    await expect(page.locator(`#event-${call}`)).toContainText(/PostToolUse.*make.*\d m?s$/)
    await expect(page.locator(`#event-${post}`)).toHaveCount(0)
    await expect(page.getByText('101 rows')).toBeVisible()
    await expect(page.locator(`${rows}[aria-selected=true]`)).toHaveCount(0)
    await page.locator(`#event-${call}`).getByText('make').click()
    await page
      .getByTestId('drawer')
      .getByRole('button', { name: `End #${post}` })
      .click()
    await expect(page).toHaveURL(new RegExp(`event=${post}$`))
    await expect(page.getByTestId('drawer').getByRole('heading')).toContainText('PostToolUse')
    await page.reload()
    await expect(page.locator(`#event-${call}`)).toHaveAttribute('aria-selected', 'true')
  })

  test('has no gap and no duplicate after a restart of the hub', async ({ page, hub }) => {
    await hub.batch(5, (i) => ({ payload: { tool_input: { command: `before ${i}` } } }))
    await openAt(page, hub, '/stream')
    await expect(page.getByText('5 rows')).toBeVisible()
    await hub.stop()
    await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
    await hub.restart()
    await hub.batch(5, (i) => ({ payload: { tool_input: { command: `after ${i}` } } }))
    await waitUntilLive(page)
    await expect(page.getByText('10 rows')).toBeVisible()
    for (const i of [0, 1, 2, 3, 4])
      await expect(page.getByText(`after ${i}`, { exact: true })).toHaveCount(1)
  })

  test('shows the outcome of a request and links to the inbox', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'May I deploy?' })
    await openAt(page, hub, '/stream')
    await expect(page.locator(`#event-${id}`)).toContainText('needs you')
    await hub.post(`/events/${id}/respond`, { permission: true })
    await expect(page.locator(`#event-${id}`)).toContainText('Approved')
    await page.locator(`#event-${id}`).click()
    await page.getByRole('link', { name: /open in the inbox/ }).click()
    await expect(page).toHaveURL(new RegExp(`/inbox/${id}`))
    await expect(page.getByRole('heading', { name: 'May I deploy?' })).toBeVisible()
  })
})
