import type { BrowserContext, Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow } from './accessibility.ts'
import { choose, detail, expect, openAt, test, visit } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import { claimHub } from './people.ts'

const approveButton = (page: Page, id: number) => detail(page, id).getByRole('button', { name: /^Approve/ })

const status = async (hub: HubProcess, id: number) =>
  (await fetch(`${hub.url}/events/${id}`).then((r) => r.json())).humanInTheLoopStatus.status

/** The script with the dialogs that load on demand. */
const dialogs = '**/assets/extras-*.js'

/** Holds the load of the dialogs back until the returned function is called. */
async function holdDialogs(page: Page): Promise<() => Promise<void>> {
  let release: (() => void) | undefined
  const held = new Promise<void>((ok) => (release = ok))
  await page.route(dialogs, async (route) => {
    await held
    await route.continue()
  })
  return async () => {
    const loaded = page.waitForResponse(dialogs)
    release?.()
    await loaded
  }
}

const screens = ['/overview', '/overview?days=90', '/team/people', '/settings/agents', '/nowhere/at-all']

test.describe('App shell', () => {
  // accessibility.spec.ts covers every screen; this covers overlays and hostile names.
  for (const width of [1360, 390]) {
    test(`has no accessibility violations, light or dark, at ${width} px`, async ({ page, hub, agent }) => {
      await page.setViewportSize({ width, height: 844 })
      const asked = await agent.ask(hub, { question: 'May I\u202e?' }, { source_app: '<b>a\u202e' })
      await hub.post(`/events/${asked.id}/respond`, { permission: true })
      await agent.ask(hub, {})
      await hub.event('PostToolUse', { tool_name: 'Bash', tool_use_id: 't' })
      await openAt(page, hub)
      for (const path of screens) {
        await visit(page, path)
        expect.soft(await accessibilityViolations(page), path).toEqual([])
        expect.soft(await horizontalOverflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0)
      }
      await page.keyboard.press('Control+k')
      await expect(page.getByTestId('palette')).toBeVisible()
      expect.soft(await accessibilityViolations(page), 'palette').toEqual([])
      await page.keyboard.type('zzzz')
      expect.soft(await accessibilityViolations(page), 'empty palette').toEqual([])
    })
  }

  test('reaches the first row of a long inbox with at most 8 Tab stops', async ({ page, hub, agent }) => {
    await claimHub(page, hub)
    for (let i = 0; i < 9; i++)
      await agent.ask(hub.fromOtherProcess(), { question: `Deploy ${i}?` }, { source_app: `agent-${i}` })
    await openAt(page, hub)
    await expect(page.getByLabel('Search the requests')).toBeVisible()
    const onRow = () => page.evaluate(() => document.activeElement?.closest('[data-id]') !== null)
    let stops = 0
    do await page.keyboard.press('Tab')
    while (++stops < 40 && !(await onRow()))
    expect(stops).toBeLessThanOrEqual(9) // the last one is the row
  })

  test('names only agents in trouble in the sidebar', async ({ page, hub }) => {
    await hub.event('PreToolUse', { tool_name: 'Bash', tool_use_id: 't' }, { source_app: 'works' })
    await openAt(page, hub)
    const trouble = page.getByRole('region', { name: 'Agents in trouble' })
    await expect(trouble).toHaveCount(0)
    await hub.event('Notification', { message: 'Claude needs your permission' }, { source_app: 'asks-there' })
    await expect(trouble.getByRole('link')).toHaveText(/asks-there.*waiting in the terminal/s)
  })

  test('fits 320 px', async ({ page, hub }) => {
    await page.setViewportSize({ width: 320, height: 640 })
    await hub.event(
      'SessionStart',
      {},
      { source_app: 'an-agent-with-a-name-that-is-longer-than-a-phone-is-wide' },
    )
    await openAt(page, hub)
    for (const path of screens) {
      await visit(page, path)
      expect.soft(await horizontalOverflow(page), path).toBeLessThanOrEqual(0)
    }
  })

  test('finds screens, requests, events and actions in the command palette by keyboard', async ({
    page,
    hub,
    agent,
  }) => {
    const hostile = '<img src=x onerror=alert(1)>'
    const { id } = await agent.ask(
      hub,
      { question: `Deploy ${hostile} to staging?` },
      { source_app: hostile },
    )
    const other = await agent.ask(hub, { question: 'Something else' })
    await openAt(page, hub, '/stream')
    const box = page.getByTestId('palette').getByRole('combobox')
    const chosen = page.getByTestId('palette').getByRole('option', { selected: true })
    const find = async (text: string) => {
      await page.keyboard.press('Control+k')
      await expect(box).toBeFocused()
      await page.keyboard.type(text)
    }
    await find('sett')
    await expect(chosen).toContainText('Settings')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/\/settings\/agents$/)
    await expect(page.getByTestId('palette')).toHaveCount(0)

    await find('deploy stag')
    await expect(chosen).toContainText(hostile) // shown as text
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(new RegExp(`/inbox/${id}$`))

    await find(`#${other.id}`)
    await expect(chosen).toContainText(`Event #${other.id}`)
    await page.keyboard.press('ArrowDown')
    await expect(chosen).toContainText(`Request #${other.id}`)
    await page.keyboard.press('Enter')
    await expect(detail(page, other.id)).toBeVisible()

    await find('theme dark')
    await page.keyboard.press('Enter')
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')

    // Letters here and there never find an action, and the last entry searches all sessions.
    await find('share')
    await expect(chosen).toContainText('Search all sessions for “share”')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(`${hub.url}/sessions?q=share`)
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')

    // Without a query it offers actions, then the newest requests.
    await page.keyboard.press('Control+k')
    await expect(chosen).toContainText('New rule')
    await expect(page.getByTestId('palette').getByRole('option').last()).toContainText(hostile)
    await page.keyboard.press('Escape')

    // The palette never offers a decision.
    await page.keyboard.press('Control+k')
    await expect(box).toBeFocused()
    await expect(page.getByRole('option', { name: /^Approve \(hold|^Deny/ })).toHaveCount(0)
    await page.keyboard.press('Escape')
    await expect(page.getByTestId('palette')).toHaveCount(0)

    await find('mute hour')
    await page.keyboard.press('Enter')
    await expect(page.getByText(/Muted until/)).toBeVisible()
  })

  for (const [key, file] of [
    ['Control+k', 'CommandPalette'],
    ['?', 'ShortcutSheet'],
  ] as const) {
    test(`types into ${file} while it loads, and decides nothing`, async ({ page, hub, agent }) => {
      const { id, answer } = await agent.ask(hub, {})
      const load = await holdDialogs(page)
      await openAt(page, hub, `/inbox/${id}`)
      await expect(approveButton(page, id)).toBeVisible()
      await page.keyboard.press(key)
      await page.keyboard.type('audit')
      const field = page.getByRole('dialog').locator('input')
      await expect(field).toHaveValue('audit')
      await load()
      const found =
        file === 'CommandPalette' ? page.getByRole('option') : page.getByText('No matching shortcut.')
      await expect(found.first()).toBeVisible()
      await page.keyboard.type(' log')
      await expect(field).toHaveValue('audit log')
      await page.keyboard.press('Escape')
      if (file === 'ShortcutSheet') await page.keyboard.press('Escape') // the first one clears the search
      await expect(page.getByRole('dialog')).toHaveCount(0)
      expect(await status(hub, id)).toBe('pending')
      await page.keyboard.press('a')
      expect((await answer).permission).toBe(true)
    })

    test(`closes ${file} with Escape while it loads`, async ({ page, hub, agent }) => {
      const { id, answer } = await agent.ask(hub, {})
      const load = await holdDialogs(page)
      await openAt(page, hub, `/inbox/${id}`)
      await expect(approveButton(page, id)).toBeVisible()
      await page.keyboard.press(key)
      await expect(page.getByRole('dialog')).toBeVisible()
      await page.keyboard.press('Escape')
      await expect(page.getByRole('dialog')).toHaveCount(0)
      await load()
      await page.keyboard.press('a')
      expect((await answer).permission).toBe(true)
      await expect(page.getByRole('dialog')).toHaveCount(0)
    })

    test(`reports that ${file} did not load, and decides nothing until it is closed`, async ({
      page,
      hub,
      agent,
    }) => {
      const { id, answer } = await agent.ask(hub, {})
      await page.route(dialogs, (route) => route.abort())
      await openAt(page, hub, `/inbox/${id}`)
      await expect(approveButton(page, id)).toBeVisible()
      await page.keyboard.press(key)
      const alert = page.getByRole('dialog').getByRole('alert')
      await expect(alert).toContainText('This did not load')
      await page.keyboard.type('audit')
      await expect(page.getByRole('dialog').locator('input')).toHaveValue('audit')
      expect.soft(await accessibilityViolations(page)).toEqual([])
      await page.keyboard.press('Escape')
      await expect(alert).toHaveCount(0)
      expect(await status(hub, id)).toBe('pending')
      await page.unroute(dialogs)
      await page.keyboard.press(key)
      await expect(page.getByRole('dialog').locator('input')).toBeFocused()
      await expect(alert).toHaveCount(0)
      await page.keyboard.press('Escape')
      await expect(page.getByRole('dialog')).toHaveCount(0)
      await page.keyboard.press('a')
      expect((await answer).permission).toBe(true)
    })
  }

  test('loads a dialog that did not load once the hub is back', async ({ page, hub }) => {
    await page.route(dialogs, (route) => route.abort())
    await openAt(page, hub)
    await page.keyboard.press('ControlOrMeta+k')
    const dialog = page.getByRole('dialog')
    await expect(dialog.getByRole('alert')).toContainText('This did not load')
    await page.keyboard.type('audit')
    await page.unroute(dialogs)
    await hub.stop()
    await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
    await hub.restart()
    await expect(dialog.getByRole('option').first()).toBeVisible()
    await expect(dialog.locator('input')).toHaveValue('audit')
  })

  test('decides nothing while the bulk approval loads', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    const other = await agent.ask(hub, { question: 'And this?' })
    const load = await holdDialogs(page)
    await openAt(page, hub, `/inbox/${id}`)
    await expect(approveButton(page, id)).toBeVisible()
    await page.keyboard.press('Shift+A')
    await page.keyboard.type('a')
    await expect(page.getByRole('dialog')).toContainText('Loading…')
    await load()
    await expect(page.getByRole('dialog').getByRole('checkbox')).toHaveCount(2)
    for (const one of [id, other.id]) expect(await status(hub, one)).toBe('pending')
  })

  test('lists the active shortcuts with their keys', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    const line = (does: RegExp) => help.locator('dd').filter({ hasText: does })
    await expect(line(/^Approve \(/)).toBeVisible()
    await help.getByRole('searchbox').fill('approve (hold')
    await expect(help.locator('dd')).toHaveCount(1)
    await expect(help.locator('dt')).toHaveText('A')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await expect(help).toHaveCount(0)
    await page.keyboard.press('a')
    await expect(detail(page, id).getByTestId('settled')).toContainText('Approved')
  })

  test('applies settings to every tab and keeps them', async ({ page, hub, context, watch }) => {
    await openAt(page, hub, '/settings/preferences')
    const other = await context.newPage()
    await watch(other)
    await openAt(other, hub, '/')
    await page.getByText('Dark', { exact: true }).click()
    await expect(other.locator('html')).toHaveAttribute('data-theme', 'dark')
    await page.getByText('UTC', { exact: true }).click()
    await expect(page.getByText(/Now: .* UTC\./)).toBeVisible()
    await page.getByRole('button', { name: 'Reset to defaults' }).click()
    await page.getByRole('button', { name: 'Confirm reset' }).click()
    await expect(other.locator('html')).toHaveAttribute('data-theme', 'system')
  })

  /** Records the desktop notifications of a page; a headless browser has none. */
  const recordAlerts = (context: BrowserContext) =>
    context.addInitScript(() => {
      const log = ((window as unknown as { shown: unknown[] }).shown = [])
      class FakeNotification extends EventTarget {
        static permission = 'granted'
        static requestPermission = () => Promise.resolve('granted')
        onclick: (() => void) | null = null
        onclose: (() => void) | null = null
        closed = false
        tag: string
        constructor(
          readonly title: string,
          readonly options: NotificationOptions,
        ) {
          super()
          this.tag = options.tag ?? ''
          ;(log as unknown[]).push(this)
        }
        close() {
          this.closed = true
          this.onclose?.()
        }
      }
      Object.defineProperty(window, 'Notification', { value: FakeNotification })
      document.hasFocus = () => false // the person uses another window
    })

  type ShownAlert = {
    title: string
    closed: boolean
    tag: string
    options: { body: string }
    onclick: () => void
  }
  const shownAlerts = (page: Page) =>
    page.evaluate(() =>
      (window as unknown as { shown: ShownAlert[] }).shown.map(({ title, closed, tag, options }) => ({
        title,
        closed,
        tag,
        body: options.body,
      })),
    )

  test('alerts the desktop from one tab until the request is settled', async ({
    context,
    hub,
    agent,
    watch,
  }) => {
    await recordAlerts(context)
    await context.addInitScript(() =>
      localStorage.setItem('hookback.settings', '{"notify": true, "sound": true}'),
    )
    const pages = [await context.newPage(), await context.newPage()]
    for (const page of pages) {
      await watch(page)
      await openAt(page, hub, '/overview')
      await page.waitForFunction(async () => (await navigator.locks.query()).held?.length === 1)
    }
    const { id } = await agent.ask(hub, { question: 'Deploy?\n\nto <b>production</b>' })
    for (const page of pages) await expect(page).toHaveTitle('(1) Hookback')
    const all = async () => (await Promise.all(pages.map(shownAlerts))).flat()
    await expect
      .poll(all)
      .toEqual([{ title: 'api asks', closed: false, tag: `req-${id}`, body: 'Deploy? to <b>production</b>' }])
    const leader = (await shownAlerts(pages[0]!)).length > 0 ? pages[0]! : pages[1]!
    await leader.evaluate(() => (window as unknown as { shown: ShownAlert[] }).shown[0]?.onclick())
    await expect(leader).toHaveURL(new RegExp(`/inbox/${id}$`))

    const second = await agent.ask(hub, { question: 'Again?' })
    await expect.poll(async () => (await all()).map((n) => n.closed)).toEqual([true, false])
    await hub.post(`/events/${second.id}/respond`, { permission: true })
    await expect.poll(async () => (await all()).map((n) => n.closed)).toEqual([true, true])

    // The leader closes: the other tab shows the next alert, and no alert appears twice.
    const [stays] = pages.filter((page) => page !== leader)
    const holder = () => stays!.evaluate(async () => (await navigator.locks.query()).held?.[0]?.clientId)
    const before = await holder()
    await leader.close()
    await expect.poll(async () => [undefined, before].includes(await holder())).toBe(false)
    const third = await agent.ask(hub, { question: 'And now?' })
    await expect
      .poll(() => shownAlerts(stays!))
      .toEqual([expect.objectContaining({ tag: `req-${third.id}` })])
  })

  test('can be installed', async ({ page, hub }) => {
    await openAt(page, hub)
    const href = await page.locator('link[rel=manifest]').getAttribute('href')
    const answer = await page.request.get(hub.url + href)
    expect(answer.headers()['content-type']).toBe('application/manifest+json')
    const manifest = (await answer.json()) as { icons: { src: string; type: string; sizes: string }[] }
    for (const icon of manifest.icons) {
      const file = await page.request.get(hub.url + icon.src)
      expect(file.headers()['content-type'], icon.src).toBe(icon.type)
      if (icon.type !== 'image/png') continue
      const bytes = await file.body() // the header has the width and height
      expect(`${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`, icon.src).toBe(icon.sizes)
    }
  })

  test('gives every screen a URL', async ({ page, hub }) => {
    await openAt(page, hub)
    for (const [key, path, title] of [
      ['o', '/overview', 'Reports'],
      ['t', '/team/people', 'People'],
      ['u', '/settings/agents', 'Connect your agents'],
      ['o', '/overview', 'Reports'],
      [',', '/settings/agents', 'Connect your agents'],
      ['e', '/sessions', 'Sessions'],
    ] as const) {
      await page.keyboard.press('g')
      await page.keyboard.press(key)
      await expect(page).toHaveURL(hub.url + path)
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
      await page.reload()
      await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible()
    }
    await page.goBack()
    await expect(page).toHaveURL(hub.url + '/settings/agents')
  })

  test('reports a screen that does not load', async ({ page, hub }) => {
    await page.route('**/assets/overview-*.js', (route) => route.abort())
    await openAt(page, hub, '/overview')
    await expect(page.getByRole('heading', { name: 'This screen did not load' })).toBeVisible()
    await page.unroute('**/assets/overview-*.js')
    await page.getByRole('link', { name: 'Reload the page' }).click()
    await expect(page.getByRole('heading', { name: 'Reports' })).toBeVisible()
  })
})

test.describe('Overview', () => {
  test('updates its charts and tables live', async ({ page, hub, agent }) => {
    await openAt(page, hub, '/overview')
    await expect(page.getByRole('heading', { name: 'No data yet' })).toBeVisible()
    const asked = await agent.ask(hub, { question: 'One?' })
    await hub.event('PreToolUse', { tool_name: 'Bash', tool_use_id: 't1' })
    await hub.event('PostToolUse', { tool_name: 'Bash', tool_use_id: 't1' })
    const tile = (name: string | RegExp) => page.locator('.tile').filter({ hasText: name }).locator('.value')
    const count = page.getByTestId('count') // the rail has the only one
    await expect(count).toHaveText('1 need you')
    await hub.post(`/events/${asked.id}/respond`, { permission: true })
    await expect(count).toHaveCount(0)
    await expect(tile(/^Answered in 14 days/)).toHaveText('1')

    const chart = page.getByRole('slider', { name: /^Outcomes/ })
    await expect(chart).toHaveAttribute('aria-valuetext', /: Approved 1$/)
    await chart.focus()
    await page.keyboard.press('ArrowLeft')
    await expect(chart).toHaveAttribute('aria-valuetext', /: none$/)
    await chart.hover({ position: { x: 3, y: 20 } })
    await expect(chart.locator('.tip')).toContainText('None')

    for (const [title, cell] of [
      ['Outcomes', '1'],
      ['Time to answer', '1'],
      ['Tools', '1'],
      ['Blocked by people', 'api'],
    ] as const) {
      await page.getByRole('button', { name: `${title} as a table` }).click()
      await expect(
        page
          .getByRole('region', { name: `${title}, the table` })
          .getByText(cell, { exact: true })
          .first(),
      ).toBeVisible()
    }
    await expect(
      page.getByRole('region', { name: 'Agent activity, the table' }).getByRole('row'),
    ).toHaveCount(2)
    await page.getByRole('link', { name: '7 days' }).click()
    await expect(page).toHaveURL(/\/overview\?days=7$/)
    await expect(tile(/^Answered in 7 days/)).toHaveText('1')
    await expect(page.getByRole('region', { name: 'Outcomes, the table' }).getByRole('row')).toHaveCount(8)
  })
})
