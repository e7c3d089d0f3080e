import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { choose, detail, expect, openAt, skipGrace, test } from './fixtures.ts'

test.describe('Freeze', () => {
  test('stops every agent with one key, approves nothing meanwhile, and resumes', async ({
    page,
    context,
    hub,
    agent,
    watch,
  }) => {
    await page.clock.install()
    const { id } = await agent.ask(hub, {
      question: 'Push it?',
      toolCall: { name: 'Bash', arguments: { command: 'git push' } },
    })
    await openAt(page, hub)
    await choose(page, id)
    const card = detail(page, id)
    const approve = card.getByRole('button', { name: /^Approve/ })
    await expect(approve).toBeEnabled()

    await page.keyboard.press('Shift+F')
    const bar = page.getByTestId('freeze-bar')
    await expect(bar).toContainText('All agents are frozen by local user')
    await expect(approve).toBeDisabled()
    await expect(card.getByTestId('cannot-answer')).toContainText('Nothing can be approved')

    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar).toContainText('froze all agents.')
    await hub.event('Stop')
    await page.clock.runFor(15_000)
    await expect(page.getByTestId('freeze-counts')).toHaveText('1 stopped')
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 844 })
      expect(await horizontalOverflow(page)).toBe(0)
      expect(await smallTargets(page)).toEqual([])
      expect(await accessibilityViolations(page)).toEqual([])
    }
    await page.setViewportSize({ width: 1360, height: 860 })

    // A page that is opened later shows it on every screen.
    const other = await context.newPage()
    await watch(other)
    for (const path of ['/stream', '/overview', `/r/${id}`, '/settings/hub']) {
      await other.goto(hub.url + path)
      await expect(other.getByTestId('freeze-bar')).toContainText('All agents are frozen')
    }

    await skipGrace(page)
    await page.keyboard.press('Shift+D')
    await expect(card).toContainText('Denied')

    await bar.getByRole('button', { name: 'Resume' }).click()
    await expect(bar).toHaveCount(0)
    await expect(other.getByTestId('freeze-bar')).toHaveCount(0)
    const next = await agent.ask(hub, { question: 'And now?' })
    await choose(page, next.id)
    await expect(detail(page, next.id).getByRole('button', { name: /^Approve/ })).toBeEnabled()
  })

  test('shows who froze which agent and why, and how to resume', async ({ page, hub }) => {
    await hub.post('/api/freezes', { scope: 'app', source_app: 'api', reason: 'Wrong branch' })
    await openAt(page, hub)
    const bar = page.getByTestId('freeze-bar')
    await expect(bar).toContainText('All agents of api are frozen')
    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar).toContainText('froze the agents of api.')
    await expect(bar).toContainText('Reason: Wrong branch')
    await page.route('**/api/freezes/*', (route) =>
      route.fulfill({
        status: 401,
        json: {
          title: 'Unauthorized',
          status: 401,
          code: 'sign_in',
          detail: 'sign in first',
          error: 'sign in first',
        },
      }),
    )
    await bar.getByRole('button', { name: 'Resume' }).click()
    await expect(bar.getByRole('alert').last()).toContainText('Sign in as an operator to resume agents.')
    await bar.getByRole('button', { name: 'Sign in' }).click()
    await expect(page.getByRole('dialog')).toBeVisible()
  })

  test('takes one line for several sessions, leaves out the ended ones, and resumes all', async ({
    page,
    hub,
  }) => {
    const app = 'disk-cleanup'
    for (const session_id of ['one', 'two', 'three', 'over']) {
      await hub.event('UserPromptSubmit', {}, { source_app: app, session_id })
      await hub.post('/api/freezes', { scope: 'session', source_app: app, session_id, reason: 'Too much' })
    }
    await hub.event('SessionEnd', {}, { source_app: app, session_id: 'over' })
    await openAt(page, hub)
    const bar = page.getByTestId('freeze-bar')
    await expect(bar).toContainText('3 sessions of disk-cleanup are frozen')
    await expect(bar).not.toContainText('Too much')
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 844 })
      expect((await bar.boundingBox())!.height).toBeLessThanOrEqual(width > 600 ? 48 : 56)
      expect(await horizontalOverflow(page)).toBe(0)
      expect(await accessibilityViolations(page)).toEqual([])
    }
    await bar.getByRole('button', { name: 'Show' }).click()
    await expect(bar.getByRole('listitem')).toHaveCount(3)
    await expect(bar.getByRole('listitem').first()).toContainText('Too much')
    await bar.getByRole('listitem').first().getByRole('button', { name: 'Resume' }).click()
    await expect(bar).toContainText('2 sessions of disk-cleanup are frozen')
    await bar.getByRole('button', { name: 'Resume all' }).click()
    await expect(bar).toHaveCount(0)
    const left = async () =>
      ((await (await fetch(`${hub.url}/api/freezes`)).json()) as { freezes: [] }).freezes
    await expect.poll(left).toEqual([]) // that of the ended session, too
  })
})

test('Ask back shows the exchange on the card of the repeated call', async ({ page, hub, agent }) => {
  await page.clock.install()
  const call = { toolCall: { name: 'Bash', arguments: { command: 'git push --force' } } }
  const first = await agent.ask(hub, { question: 'Force push?', ...call })
  await openAt(page, hub)
  await choose(page, first.id)
  await page.keyboard.press('q')
  await page.getByLabel(/What do you want to know/).fill('Why a force push?')
  await page.getByRole('button', { name: /Deny and ask why/ }).click()
  await expect(detail(page, first.id)).toContainText('Denied')
  await page.clock.runFor(15_000) // the undo window
  await hub.event('Stop', { last_assistant_message: 'It removes a leaked key.' })
  await expect
    .poll(
      async () =>
        (await fetch(`${hub.url}/events/${first.id}`).then((r) => r.json())).humanInTheLoopStatus.status,
    )
    .toBe('responded')
  const second = await agent.ask(hub, { question: 'Force push?', ...call })
  await choose(page, second.id)
  const exchange = detail(page, second.id).getByTestId('exchange')
  await expect(exchange).toContainText('Why a force push?')
  await expect(exchange).toContainText('It removes a leaked key.')
  expect(await smallTargets(page)).toEqual([])
  expect(await accessibilityViolations(page)).toEqual([])
})
