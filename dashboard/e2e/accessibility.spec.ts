import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { expect, openAt, skipGrace, test, visit, openMore, choose, detail } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import type { Agent } from './agent.ts'
import { claimHub, invitePerson, openInNewBrowser } from './people.ts'

/** An appeal without a notification ends after two minutes at the latest. */
const appealOf = (command: string) => ({
  question: 'Push it?',
  toolCall: { name: 'Bash', arguments: { command } },
  appeal: { by: 'auto mode', reason: 'Not asked for.' },
})

async function fill(hub: HubProcess, agent: Agent) {
  await hub.event('UserPromptSubmit', { prompt: 'Deploy it' })
  await hub.event('PostToolUseFailure', { tool_name: 'Bash', error: 'exit 1' }, { error: 'exit 1' })
  // Slow machines look at all screens for minutes.
  const ask = (question: Record<string, unknown>) => agent.ask(hub, { timeout: 3600, ...question })
  const permission = await ask({
    risk: 'high',
    question: 'Run a shell command',
    toolCall: {
      name: 'Bash',
      editable: true,
      arguments: { command: 'rm -rf ./x\u202e', timeout: 5, deep: { a: 1 } },
    },
    context: {
      why: 'It deletes.',
      cwd: '~/src',
      branch: 'main',
      userPrompt: 'Deploy it',
      links: ['https://example.com'],
    },
    suggestions: [
      { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] },
    ],
  })
  const edit = await ask({
    question: 'Edit a.go',
    toolCall: { name: 'Edit', arguments: { file_path: 'a.go', old_string: 'a\nb', new_string: 'a\nc' } },
  })
  const text = await ask({
    timeout: 300, // soon urgent
    type: 'question',
    question: 'What name?\n\n- **bold**\n- `code`\n\n```sh\nls\n```',
  })
  const choice = await ask({ type: 'choice', question: 'Which?', choices: ['One', 'Two'] })
  const several = await ask({
    type: 'question',
    question: 'Several',
    questions: [
      {
        id: 'a',
        question: 'Tone?',
        options: [{ label: 'Friendly', description: 'short' }, { label: 'Formal' }],
      },
      { id: 'b', question: 'Name?' },
    ],
  })
  const plan = await ask({
    question: 'Ready to code?',
    toolCall: { name: 'ExitPlanMode', arguments: { plan: '# Limits\n\n1. Add a bucket\n\nما زال' } },
    suggestions: [{ type: 'setMode', mode: 'acceptEdits' }],
  })
  const appeal = await ask(appealOf('git push'))
  const other = await ask({
    type: 'choice',
    question: 'أيّ إطار نستخدم؟',
    choices: ['Jest', 'Vitest'],
    allowOther: true,
  })
  const done = await ask({ question: 'Settled' })
  await hub.post(`/events/${done.id}/respond`, { permission: false, reason: 'Use the copy' })
  const lost = await ask({ question: 'Lost', responseWebSocketUrl: 'ws://10.1.2.3:9/x' })
  await hub.post(`/events/${lost.id}/respond`, { permission: true })
  return [permission, edit, text, choice, several, done, lost, plan, appeal, other].map((a) => a.id)
}

/** The paths of every screen, with each kind of request. */
const screens = (ids: number[]) => [
  '/',
  ...ids.map((id) => `/inbox/${id}`),
  `/r/${ids[0]}`,
  `/r/${ids[3]}`,
  '/now',
  '/stream',
  `/stream?event=${ids[0]}&q=agent:api`,
  '/sessions',
  '/sessions/api/s1',
  `/sessions/api/s1#${ids[0]}`,
  '/overview',
  '/policy',
  ...['people', 'tokens', 'coverage', 'audit'].map((tab) => `/team/${tab}`),
  ...['agents', 'preferences', 'hub'].map((tab) => `/settings/${tab}`),
  '/?tab=decided',
  '/?tab=automatic',
  '/?tab=expired&find=none',
  '/?group=session',
  '/inbox/999999',
  '/nowhere',
  '/docs',
  '/docs/search?q=hub',
  '/licenses',
]

/** Cards that fill does not have. */
const cards: Record<string, Record<string, unknown>> = {
  vote: {
    question: 'Deploy it?',
    toolCall: { name: 'Bash', arguments: { command: 'make deploy' } },
    requiredApprovals: 2,
    recipients: { mode: 'selected_members', members: ['mara', 'noor'] },
  },
  'new file': { toolCall: { name: 'Write', arguments: { file_path: '/srv/.env', content: 'A=1\nB=2' } } },
  'MCP call': { toolCall: { name: 'mcp__stripe__create_refund', arguments: { amount: 25000 } } },
  'long call': { toolCall: { name: 'Bash', arguments: { command: 'echo 1234567890\n'.repeat(400) } } },
  'single choice': {
    type: 'question',
    question: 'Which tone?',
    questions: [
      {
        id: 'a',
        question: 'Which tone?',
        options: [{ label: 'Friendly', description: 'short' }, { label: 'Formal' }],
      },
    ],
  },
  information: { type: 'question', question: 'The build is green.', requiresResponse: false },
  'required reason': { question: 'Skip the tests?', reasonRequired: 'always' },
  rated: {
    question: 'Remove it?',
    risk: 'medium',
    toolCall: { name: 'Bash', arguments: { command: 'sudo rm -rf /srv' } },
  },
}

test.describe('Accessibility', () => {
  for (const width of [1280, 390]) {
    test(`has no violations on cards of a team, signed out or without the hub, at ${width} px`, async ({
      page,
      hub,
      agent,
      browser,
      watch,
    }) => {
      const check = async (on: typeof page, what: string) => {
        expect.soft(await accessibilityViolations(on), what).toEqual([])
        expect.soft(await horizontalOverflow(on), `${what} scrolls sideways`).toBeLessThanOrEqual(0)
        expect.soft(await smallTargets(on), `${what} has small targets`).toEqual([])
      }
      await page.setViewportSize({ width, height: 844 })
      await claimHub(page, hub)
      await invitePerson(page, 'noor')
      const outside = hub.fromOtherProcess()
      const ids = new Map<string, number>()
      for (const [name, question] of Object.entries(cards))
        ids.set(name, (await agent.ask(outside, question)).id)
      for (const [name, id] of ids) {
        await visit(page, `/inbox/${id}`)
        await expect(detail(page, id)).toBeVisible()
        await check(page, name)
      }
      await visit(page, '/')
      const visitor = await openInNewBrowser(browser, watch, hub.url)
      await visitor.setViewportSize({ width, height: 844 })
      await expect(visitor.getByTestId('hub-locked')).toBeVisible()
      for (const path of [
        '/',
        `/inbox/${ids.get('vote')}`,
        '/now',
        '/sessions',
        '/team/people',
        '/settings/hub',
      ]) {
        await visit(visitor, path)
        await check(visitor, `signed out: ${path}`)
      }
      for (const path of ['/now', '/sessions', '/overview', '/team/people']) await visit(page, path) // loads their code
      await hub.stop()
      await expect(page.getByTestId('connection-banner')).toBeVisible()
      for (const path of [
        '/',
        `/inbox/${ids.get('rated')}`,
        '/now',
        '/sessions',
        '/overview',
        '/team/people',
      ]) {
        await visit(page, path)
        await check(page, `without the hub: ${path}`)
      }
    })
  }

  for (const width of [1360, 390]) {
    test(`has no violations on any screen, light or dark, at ${width} px`, async ({ page, hub, agent }) => {
      await page.setViewportSize({ width, height: 844 })
      await openAt(page, hub)
      expect.soft(await accessibilityViolations(page), 'empty inbox').toEqual([])
      const ids = await fill(hub, agent)
      for (const path of screens(ids)) {
        await visit(page, path)
        expect.soft(await accessibilityViolations(page), path).toEqual([])
        expect.soft(await horizontalOverflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0)
        expect.soft(await smallTargets(page), `${path} has small targets`).toEqual([])
      }
      await visit(page, `/inbox/${ids[0]}`)
      const menu = await openMore(page, ids[0]!)
      expect.soft(await accessibilityViolations(page), 'more actions').toEqual([])
      await menu.getByRole('button', { name: /Edit/ }).click()
      expect.soft(await accessibilityViolations(page), 'editing').toEqual([])
      await page.getByRole('button', { name: /Deny/ }).click()
      expect.soft(await accessibilityViolations(page), 'denying').toEqual([])
      const { id: appeal } = await agent.ask(hub, appealOf('git push --tags'))
      for (const [id, key, form] of [
        [appeal, 'd', 'keeping a refusal'],
        [ids[0], 't', 'extending'],
        [ids[0], 'Shift+X', 'canceling'],
        [ids[0], 'q', 'asking back'],
        [ids[3], 'c', 'commenting on a choice'],
        [ids[9], 'r', 'another answer to a choice'],
        [ids[7], 'd', 'asking for changes of a plan'],
      ] as const) {
        await visit(page, '/')
        await choose(page, id!)
        await page.keyboard.press('Escape')
        await page.keyboard.press(key)
        const card = detail(page, id!)
        await expect(
          card.getByRole('button', { name: /^Back/ }).or(card.getByLabel('Your answer')).first(),
        ).toBeVisible()
        expect.soft(await accessibilityViolations(page), form).toEqual([])
        expect.soft(await horizontalOverflow(page), `${form} scrolls sideways`).toBeLessThanOrEqual(0)
        expect.soft(await smallTargets(page), `${form} has small targets`).toEqual([])
        await page.keyboard.press('Escape')
        await page.keyboard.press('Escape')
      }
      await visit(page, '/')
      await page.getByRole('button', { name: /^Group by/ }).click()
      expect.soft(await accessibilityViolations(page), 'group menu').toEqual([])
      await page.keyboard.press('Escape')
      if (width >= 760) {
        await page.getByTestId('list').locator('[data-id]').first().hover()
        await expect(page.getByTestId('row-actions')).toBeVisible()
        expect.soft(await accessibilityViolations(page), 'actions of a row').toEqual([])
        expect.soft(await smallTargets(page), 'actions of a row').toEqual([])
      }
      await page.keyboard.press('Shift+A')
      await expect(page.getByRole('dialog')).toBeVisible()
      expect.soft(await accessibilityViolations(page), 'bulk approval').toEqual([])
      expect.soft(await horizontalOverflow(page), 'bulk approval scrolls sideways').toBeLessThanOrEqual(0)
      await page.keyboard.press('Escape')
      await visit(page, '/now') // a phone shows no tabs below a card
      for (const name of ['Keyboard shortcuts', 'Find']) {
        if (width < 760) await page.getByRole('button', { name: 'More', exact: true }).click()
        await page.getByRole('button', { name, exact: true }).filter({ visible: true }).click()
        await expect(page.getByRole('dialog')).toBeVisible()
        expect.soft(await accessibilityViolations(page), name).toEqual([])
        await page.keyboard.press('Escape')
      }
      await visit(page, '/stream')
      await page.getByRole('button', { name: /^Time range/ }).click()
      expect.soft(await accessibilityViolations(page), 'time range').toEqual([])
      await page.keyboard.press('Escape')
      await page.getByLabel('Filter', { exact: true }).fill('type:')
      await expect(page.getByRole('option').first()).toBeVisible()
      expect.soft(await accessibilityViolations(page), 'suggestions').toEqual([])
    })
  }

  test('has no violations in any document, light or dark', async ({ page, hub }) => {
    await page.goto(`${hub.url}/docs`)
    await expect(page.getByRole('link', { name: 'API reference' })).toBeVisible()
    const documents = await page
      .locator('article a[href^="/docs/"]')
      .evaluateAll((all) => all.map((a) => a.getAttribute('href')!))
    expect(documents.length).toBeGreaterThan(30)
    // The documents of the API have one form.
    for (const path of [...documents, '/docs/api/alerts']) {
      await visit(page, path)
      await expect(page.locator('article h1')).toBeVisible()
      expect.soft(await accessibilityViolations(page), path).toEqual([])
      expect.soft(await horizontalOverflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0)
    }
  })

  test('fits every screen into 320 px and next to the icon sidebar', async ({ page, hub, agent }) => {
    const ids = await fill(hub, agent)
    await openAt(page, hub)
    for (const width of [320, 900]) {
      await page.setViewportSize({ width, height: 640 })
      for (const path of screens(ids)) {
        await visit(page, path)
        expect.soft(await horizontalOverflow(page), `${path} at ${width} px`).toBeLessThanOrEqual(0)
      }
    }
  })

  test('reaches every control with the Tab key', async ({ page, hub, agent }) => {
    const ids = await fill(hub, agent)
    await openAt(page, hub)
    for (const path of [
      `/inbox/${ids[0]}`,
      `/stream?event=${ids[0]}`,
      '/sessions/api/s1',
      '/overview',
      '/settings/agents',
      '/settings/preferences',
      '/settings/hub',
    ]) {
      await visit(page, path)
      // A radio group or tab list is one tab stop; the arrow keys move within it.
      const stops = await page.evaluate(() => {
        const all = [
          ...document.querySelectorAll<HTMLElement>('a[href], button, input, textarea, select, summary'),
        ]
        const shown = all.filter(
          (e) =>
            e.tabIndex >= 0 &&
            !e.matches(':disabled, [type=radio]') &&
            e.checkVisibility({ visibilityProperty: true }),
        )
        shown.forEach((e, i) => (e.dataset.stop = String(i)))
        ;(document.activeElement as HTMLElement | null)?.blur()
        return shown.map((e) => e.outerHTML.slice(0, 100))
      })
      const reached = new Set<number>()
      for (let i = 0; i < stops.length * 2 + 20 && reached.size < stops.length; i++) {
        await page.keyboard.press('Tab')
        const stop = await page.evaluate(() => (document.activeElement as HTMLElement | null)?.dataset.stop)
        if (stop !== undefined) reached.add(Number(stop))
      }
      expect
        .soft(
          stops.filter((_, i) => !reached.has(i)),
          path,
        )
        .toEqual([])
    }
  })

  test('supports a test request, approval, denial with a reason, votes and invitations by keyboard alone', async ({
    page,
    hub,
    agent,
  }) => {
    const focused = (name: RegExp | string) => page.locator(':focus').and(page.getByRole('link', { name }))
    const tabTo = async (found: () => Promise<number>) => {
      for (let i = 0; i < 60 && (await found()) === 0; i++) await page.keyboard.press('Tab')
    }
    await page.clock.install()
    await claimHub(page, hub)
    await invitePerson(page, 'noor')
    await tabTo(() => focused('Send a test request').count())
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/inbox\/\d+$/)
    const tested = Number(/\d+$/.exec(page.url())?.[0])
    await expect(detail(page, tested).getByRole('button', { name: /^Approve/ })).toBeEnabled()
    await skipGrace(page)
    await page.keyboard.press('a')
    await expect(detail(page, tested).getByTestId('settled')).toContainText('Approved')

    const outside = hub.fromOtherProcess()
    const { id, answer } = await agent.ask(outside, { question: 'Push it?' })
    const vote = await agent.ask(outside, cards.vote!)
    await expect(page.getByTestId('count')).toContainText('2')
    await tabTo(() => page.locator(`a[data-id="${id}"]:focus`).count())
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    for (let i = 0; i < 5 && !(await detail(page, id).isVisible()); i++) await page.keyboard.press('j')
    await expect(detail(page, id)).toBeVisible()
    await skipGrace(page)
    await page.keyboard.press('d')
    await page.keyboard.type('Use the branch')
    await page.keyboard.press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, reason: 'Use the branch' })
    await expect(detail(page, vote.id)).toBeVisible()
    await skipGrace(page)
    await page.keyboard.press('a')
    await expect(detail(page, vote.id).getByTestId('votes')).toContainText('1 of 2')

    await page.keyboard.press('Control+k')
    await expect(page.getByTestId('palette').getByRole('combobox')).toBeFocused()
    await page.keyboard.type('invite')
    await page.keyboard.press('Enter')
    await expect(page.getByLabel('Name', { exact: true })).toBeFocused()
    await page.keyboard.type('grace')
    await page.keyboard.press('Enter')
    const once = page.getByTestId('one-time-secret')
    await expect(once).toContainText('grace')
    await tabTo(() =>
      page
        .locator(':focus')
        .and(once.getByRole('button', { name: 'Done' }))
        .count(),
    )
    await page.keyboard.press('Enter')
    await expect(once).toHaveCount(0)
  })

  test('supports answering, the stream, sessions and settings by keyboard alone', async ({
    page,
    hub,
    agent,
  }) => {
    const { id, answer } = await agent.ask(hub, { question: 'May I?' })
    await hub.event('PreToolUse', { tool_name: 'Bash', tool_input: { command: 'make' } })
    await page.clock.install()
    await openAt(page, hub)
    await expect(page.locator(`[data-testid=detail][data-request="${id}"]`)).toBeVisible()
    await skipGrace(page)
    await page.keyboard.press('a')
    await expect(page.getByTestId('delivery-steps').first()).toContainText(/delivered/)
    expect((await answer).permission).toBe(true)

    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await expect(page.getByTestId('rows')).toBeVisible()
    await page.keyboard.press('/')
    await page.keyboard.type('make')
    await expect(page.getByText('1 row of 2 events')).toBeVisible()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    await page.keyboard.press('k')
    await expect(page.locator('.row.active')).toHaveCount(1)
    for (
      let i = 0;
      i < 30 && !(await page.getByTestId('rows').evaluate((e) => e === document.activeElement));
      i++
    )
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect(page.getByTestId('drawer')).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(page.getByTestId('drawer')).toHaveCount(0)

    await page.keyboard.press('g')
    await page.keyboard.press('e')
    await expect(page.getByRole('heading', { name: 'Sessions', level: 1 })).toBeVisible()
    const link = page.locator('main a[href^="/sessions/api/"]').first()
    await expect(link).toBeVisible()
    for (let i = 0; i < 40 && !(await link.evaluate((e) => e === document.activeElement)); i++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect(page).toHaveURL(/sessions\/api\/s1/)

    await page.keyboard.press('g')
    await page.keyboard.press('o')
    await expect(page.getByRole('heading', { name: 'Reports', level: 1 })).toBeVisible()
    await page.keyboard.press('g')
    await page.keyboard.press(',')
    await expect(page.getByRole('heading', { name: 'Connect your agents', level: 1 })).toBeVisible()
    const preferences = page
      .getByRole('navigation', { name: 'Settings' })
      .getByRole('link', { name: 'Preferences' })
    for (let i = 0; i < 40 && !(await preferences.evaluate((e) => e === document.activeElement)); i++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'Preferences', level: 1 })).toBeVisible()
    const radio = page.locator('main input[type=radio]:checked').first()
    for (let i = 0; i < 40 && !(await radio.evaluate((e) => e === document.activeElement)); i++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('ArrowRight')
    await expect(page.locator('html')).not.toHaveAttribute('data-theme', 'system')
  })
})
