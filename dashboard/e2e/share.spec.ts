import type { Browser, Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { expect, openAt, test } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import { callApi, claimHub, invitePerson, openInNewBrowser, userBadge } from './people.ts'

/** Reports a session with a prompt, an edit, a failed command and a transcript. */
async function reportSession(hub: HubProcess): Promise<void> {
  await hub.event('UserPromptSubmit', { prompt: 'Fix the order of the list', cwd: '/src' })
  await hub.event('PreToolUse', {
    tool_use_id: 't1',
    tool_name: 'Bash',
    tool_input: { command: 'go test ./...' },
  })
  await hub.event('PostToolUseFailure', {
    tool_use_id: 't1',
    tool_name: 'Bash',
    tool_input: { command: 'go test ./...' },
    error: 'exit status 1',
  })
  await hub.event('PostToolUse', {
    tool_use_id: 't2',
    tool_name: 'Edit',
    tool_input: { file_path: '/src/list.go', old_string: 'one', new_string: 'TWO' },
  })
  await hub.event(
    'Stop',
    {},
    { chat: [{ type: 'user', message: { role: 'user', content: 'a word of the transcript' } }] },
  )
}

/** Shares the open session, and returns the link at the hub's address. */
async function share(page: Page, hub: HubProcess, options: { lifetime?: string; transcript?: boolean } = {}) {
  await page.getByRole('button', { name: 'Share' }).click()
  const dialog = page.getByRole('dialog', { name: 'Share this session' })
  if (options.lifetime) await dialog.getByText(options.lifetime, { exact: true }).click()
  if (options.transcript) await dialog.getByLabel(/With transcript/).check()
  await dialog.getByRole('button', { name: 'Create link' }).click()
  const link = await dialog.getByTestId('one-time-secret').locator('code').innerText()
  await expect(dialog.getByTestId('link-reach')).toBeVisible()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(page.locator('body')).not.toContainText(link)
  await dialog.getByRole('button', { name: 'Close' }).click()
  const { pathname, hash } = new URL(link)
  return hub.url + pathname + hash
}

/** Opens a link as a stranger, and collects the paths that its page requests. */
async function openAsStranger(browser: Browser, watch: (page: Page) => Promise<void>, link: string) {
  const requested: string[] = []
  const page = await openInNewBrowser(
    browser,
    async (page) => {
      await watch(page)
      page.on('request', (request) => requested.push(new URL(request.url()).pathname))
      page.on('websocket', (socket) => requested.push('websocket ' + socket.url()))
    },
    link,
  )
  return { page, requested }
}

test.describe('Share link', () => {
  test('shows exactly one session to a person who is not signed in', async ({
    page,
    hub,
    browser,
    watch,
  }) => {
    await reportSession(hub)
    await hub.event('Stop', { secret: 'other' }, { session_id: 's2' })
    await claimHub(page, hub)
    await openAt(page, hub, '/sessions/api/s1')
    const link = await share(page, hub)

    const { page: stranger, requested } = await openAsStranger(browser, watch, link)
    const header = stranger.getByTestId('shared-by')
    await expect(header).toContainText('Shared by mara, read-only, ends in 23 h')
    expect(stranger.url()).toBe(`${hub.url}/shared`)
    const main = stranger.locator('main')
    await expect(main.getByRole('heading', { name: 'Fix the order of the list' })).toBeVisible()
    await expect(main).toContainText('go test ./...')
    await expect(stranger.getByRole('tab')).toHaveText(['Timeline', 'Files', 'Tools'])
    await expect(stranger.getByRole('link')).toHaveCount(0)
    await expect(stranger.getByRole('textbox')).toHaveCount(0)

    await stranger.getByTestId('turn-line').filter({ hasText: 'Bash' }).click()
    await expect(stranger.getByTestId('drawer')).toContainText('exit status 1')
    await stranger.keyboard.press('Escape')
    await stranger.getByRole('tab', { name: 'Files' }).click()
    await stranger
      .getByTestId('files')
      .getByRole('button', { name: /list\.go/ })
      .click()
    await expect(stranger.getByTestId('files')).toContainText('TWO')
    await stranger.getByRole('tab', { name: 'Tools' }).click()
    await expect(main).toContainText('Median')
    await stranger.getByRole('tab', { name: 'Timeline' }).click()

    // New events appear on request.
    await hub.event('UserPromptSubmit', { prompt: 'And the tests' })
    await expect(main).not.toContainText('And the tests')
    await expect(async () => {
      await stranger.getByRole('button', { name: 'Refresh' }).click()
      await expect(main).toContainText('And the tests', { timeout: 2000 })
    }).toPass({ timeout: 60_000 })
    await stranger.reload()
    await expect(header).toContainText('Shared by mara')
    await expect(main).toContainText('And the tests')

    expect(await stranger.context().cookies()).toEqual([])
    const api = requested.filter((path) => !/^\/(assets\/|shared$|favicon|manifest|icon)/.test(path))
    expect(
      [...new Set(api)].filter(
        (path) => !/^\/(api\/shared|api\/session|api\/session\/files|events|events\/\d+)$/.test(path),
      ),
    ).toEqual([])
    const refusals = await stranger.evaluate(
      ([secret, paths]) =>
        Promise.all(
          paths.map(async (path) => (await fetch(path, { headers: { 'Hookback-Share': secret } })).status),
        ),
      [
        new URL(link).hash.slice(1),
        [
          '/api/sessions',
          '/events/recent',
          '/api/people',
          '/events?source_app=api&session_id=s2',
          '/events/6',
        ],
      ] as const,
    )
    expect(refusals).toEqual([403, 403, 403, 403, 403])
  })

  test('is accessible, fits a phone, and shows a transcript if its author chose so', async ({
    page,
    hub,
    browser,
    watch,
  }) => {
    await reportSession(hub)
    await claimHub(page, hub)
    await openAt(page, hub, '/sessions/api/s1')
    await page.getByRole('button', { name: 'Share' }).click()
    expect(await accessibilityViolations(page)).toEqual([])
    await page.keyboard.press('Escape')
    const link = await share(page, hub, { lifetime: '7 days', transcript: true })

    const { page: stranger } = await openAsStranger(browser, watch, link)
    await expect(stranger.getByTestId('shared-by')).toContainText('ends in 6 d')
    for (const width of [1360, 390]) {
      await stranger.setViewportSize({ width, height: 844 })
      await expect(stranger.locator('main')).toContainText('Fix the order of the list')
      expect(await accessibilityViolations(stranger)).toEqual([])
      expect(await horizontalOverflow(stranger)).toBeLessThanOrEqual(0)
      expect(await smallTargets(stranger)).toEqual([])
    }
    await stranger.getByRole('tab', { name: 'Transcript' }).click()
    await expect(stranger.locator('main')).toContainText('a word of the transcript')
  })

  test('is listed with its openings, and ends when it is revoked', async ({ page, hub, browser, watch }) => {
    await reportSession(hub)
    await claimHub(page, hub)
    await openAt(page, hub, '/sessions/api/s1')
    const link = await share(page, hub, { lifetime: '1 hour' })
    const { page: stranger } = await openAsStranger(browser, watch, link)
    await expect(stranger.getByTestId('shared-by')).toBeVisible()

    await page.getByRole('button', { name: 'Share' }).click()
    const links = page.getByTestId('share-links')
    await expect(links.getByRole('listitem')).toHaveCount(1)
    await expect(links).toContainText('by mara')
    await expect(links).toContainText('ends in 59 min')
    await expect(links).toContainText('opened once')
    await page.keyboard.press('Escape')
    await page.goto(`${hub.url}/team/tokens`)
    await expect(links.getByRole('link', { name: /api/ })).toHaveAttribute('href', '/sessions/api/s1')
    expect(await accessibilityViolations(page)).toEqual([])
    await links.getByRole('button', { name: /^Revoke/ }).click()
    await links.getByRole('button', { name: /^Confirm revoke/ }).click()
    await expect(links).toHaveCount(0)

    await stranger.getByRole('button', { name: 'Refresh' }).click()
    await expect(stranger.getByTestId('share-ended')).toContainText('This link has ended')
    await expect(stranger.locator('main')).not.toContainText('go test')
    await stranger.reload()
    await expect(stranger.getByTestId('share-ended')).toContainText('Ask the person who shared it')
    expect(await accessibilityViolations(stranger)).toEqual([])
    await page.goto(`${hub.url}/team/audit`)
    for (const action of ['shared a session', 'was opened for the first time', 'revoked a share link'])
      await expect(page.locator('main')).toContainText(action)
  })

  test('ends with its author, and needs a complete link', async ({ page, hub, browser, watch }) => {
    await reportSession(hub)
    await claimHub(page, hub)
    const noor = await openInNewBrowser(browser, watch, await invitePerson(page, 'noor'))
    await expect(userBadge(noor)).toContainText('noor')
    await openAt(noor, hub, '/sessions/api/s1')
    const { page: stranger } = await openAsStranger(browser, watch, await share(noor, hub))
    await expect(stranger.getByTestId('shared-by')).toContainText('Shared by noor')
    await callApi(page, 'POST', '/api/people/noor', { role: 'viewer' })
    await stranger.getByRole('button', { name: 'Refresh' }).click()
    await expect(stranger.getByTestId('share-ended')).toBeVisible()
    await noor.reload()
    await noor.getByRole('button', { name: 'Share' }).click()
    await expect(noor.getByTestId('share-dialog')).toContainText('Viewers cannot share sessions')
    await expect(noor.getByTestId('share-dialog').getByRole('button', { name: 'Create link' })).toHaveCount(0)

    const { page: other } = await openAsStranger(browser, watch, hub.url + '/shared')
    await expect(other.getByTestId('share-ended')).toContainText('This link is incomplete')
    await other.goto(hub.url + '/shared#hubsh_AAAAAAAAAAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAA')
    await expect(other.getByTestId('share-ended')).toContainText('This link has ended')
  })
})
