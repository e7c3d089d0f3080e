import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow } from './accessibility.ts'
import { choose, detail, expect, openAt, pauseClock, row, pressKeyAtNext, test } from './fixtures.ts'

const bash = (command: string, more = {}) => ({ toolCall: { name: 'Bash', arguments: { command }, ...more } })

const executions = [
  {
    how: 'failed',
    key: 'a',
    type: 'PostToolUseFailure',
    more: { error: 'exit status 2' },
    tick: 'ran and failed',
  },
  {
    how: 'was broken off',
    key: 'a',
    type: 'PostToolUseFailure',
    more: { error: 'stopped', is_interrupt: true },
    tick: 'interrupted',
  },
  { how: 'ran although it was denied', key: 'Shift+D', type: 'PostToolUse', more: {}, tick: 'ran anyway' },
]
test.describe('Request detail', () => {
  for (const { how, key, type, more, tick } of executions) {
    test(`shows as its last delivery step that the call ${how}`, async ({ page, hub, agent }) => {
      const call = { tool_use_id: 'toolu_1', tool_name: 'Bash' }
      const { id, answer } = await agent.ask(hub, bash('make', { id: 'toolu_1' }), call)
      await openAt(page, hub)
      await choose(page, id)
      await page.keyboard.press(key)
      await answer
      const end = await hub.event(type, { tool_name: 'Bash', ...more }, call)
      const last = detail(page, id).getByTestId('delivery-steps').getByRole('listitem').last()
      await expect(last).toContainText(tick)
      await expect(last).toContainText('failed')
      await expect(last.getByRole('link')).toHaveAttribute('href', `/stream?event=${end}`)
      await expect(detail(page, id).getByTestId('ran-anyway')).toHaveCount(key === 'a' ? 0 : 1)
    })
  }

  test('names and marks what of a call can’t be read', async ({ page, hub, agent }) => {
    const hidden = await agent.ask(hub, bash('ls 😀 && $TOOL --all'))
    const plain = await agent.ask(hub, bash('ls 😀 && make --all'))
    const list = { toolCall: { name: 'shell', arguments: { command: ['sh', '-c', 'git push; $(get it)'] } } }
    const { id: words } = await agent.ask(hub, list)
    await openAt(page, hub)
    await choose(page, hidden.id)
    const card = detail(page, hidden.id)
    await expect(card.getByTestId('unread')).toHaveText(
      /^\s*This call can’t be read completely: the program is known only at run time\.\s*$/,
    )
    await expect(card.locator('.call-preview mark')).toHaveText('$TOOL')
    await expect(card.locator('.call-preview .program')).toHaveText(['ls', '$TOOL'])
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 800 })
      await expect(card.getByTestId('unread')).toBeVisible()
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
      expect.soft(await accessibilityViolations(page), `at ${width} px`).toEqual([])
    }
    await page.setViewportSize({ width: 1360, height: 800 })
    await page.goto(`${hub.url}/inbox/${words}`)
    await expect(detail(page, words).locator('.call-preview code')).toHaveText("sh -c 'git push; $(get it)'")
    await expect(detail(page, words).getByTestId('unread')).toBeVisible()
    const marked = detail(page, words).locator('.call-preview mark[title*="known only at run time"]')
    expect((await marked.allTextContents()).join('')).toBe('$(get it)')
    await expect(detail(page, words).locator('.call-preview .program')).toContainText(['sh', 'git', 'get'])
    await page.goto(`${hub.url}/inbox/${plain.id}`)
    await expect(detail(page, plain.id).locator('.call-preview .program')).toHaveText(['ls', 'make'])
    await expect(detail(page, plain.id).getByTestId('unread')).toHaveCount(0)
  })

  test('shows what a call does right below it', async ({ page, hub, agent }) => {
    const consequence = {
      sentences: [
        "Removes 214 files, 38 MB; 9 of them are neither in git nor ignored and can't be restored.",
        'Largest: "build/model\u202e.bin" (30 MB), "notes.txt" (5.0 MB).',
      ],
      files: 214,
      unrecoverable: 9,
    }
    const { id } = await agent.ask(hub, bash('rm -rf build notes.txt', { consequence, editable: true }))
    const { id: none } = await agent.ask(hub, bash('make'))
    await openAt(page, hub)
    await choose(page, id)
    const shown = detail(page, id).getByTestId('consequence')
    await expect(shown).toContainText('What it does')
    await expect(shown).toContainText('Removes 214 files, 38 MB; 9 of them')
    await expect(shown.locator('.mark')).toHaveCount(1)
    const call = await detail(page, id).locator('.call-preview').boundingBox()
    const box = await shown.boundingBox()
    expect((box?.y ?? 0) - (call?.y ?? 0) - (call?.height ?? 0)).toBeLessThan(40)
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
      expect.soft(await accessibilityViolations(page), `at ${width} px`).toEqual([])
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/consequence-${width}.png` })
    }
    await page.goto(`${hub.url}/inbox/${none}`)
    await expect(detail(page, none)).toBeVisible()
    await expect(detail(page, none).getByTestId('consequence')).toHaveCount(0)
  })

  test('shows that the same call was denied before, with the reason', async ({ page, hub, agent }) => {
    const denied: number[] = []
    for (const reason of ['No.', 'Plan first.']) {
      const { id, answer } = await agent.ask(hub, bash('terraform apply'))
      await hub.post(`/events/${id}/respond`, { permission: false, reason })
      await answer
      denied.push(id)
    }
    const { id: other } = await agent.ask(hub, bash('terraform plan'))
    const { id } = await agent.ask(hub, bash('terraform apply'))
    await openAt(page, hub)
    await choose(page, id)
    const recentActivity = detail(page, id).getByTestId('recent-activity')
    await expect(recentActivity).toContainText('Same call asked before: denied twice')
    await expect(recentActivity.locator('q')).toHaveText('Plan first.')
    await choose(page, other)
    await expect(detail(page, other).getByTestId('recent-activity')).toBeVisible()
    await expect(detail(page, other)).not.toContainText('Same call')
    await choose(page, id)
    await recentActivity.getByRole('link', { name: 'Show it' }).click()
    await expect(detail(page, denied[1] ?? 0)).toContainText('Denied')
  })

  const holds: { name: string; tap: (page: Page) => Promise<void>; down: (page: Page) => Promise<void> }[] = [
    {
      name: 'Enter on the button',
      tap: (page) => page.keyboard.press('Enter'),
      down: (page) => page.keyboard.down('Enter'),
    },
    {
      name: 'the mouse',
      tap: async (page) => {
        await page.mouse.down()
        await page.mouse.up()
      },
      down: (page) => page.mouse.down(),
    },
  ]
  for (const { name, tap, down } of holds) {
    test(`requires press-and-hold with ${name} for a risky request`, async ({ page, hub, agent }) => {
      const { id, answer } = await agent.ask(hub, { risk: 'high' })
      await page.clock.install()
      await openAt(page, hub)
      await choose(page, id)
      const approve = detail(page, id).getByRole('button', { name: /^Approve/ })
      await approve.focus()
      await approve.hover()
      const sent: string[] = []
      page.on('request', (request) => request.url().endsWith('/respond') && sent.push(request.url()))
      await pauseClock(page)
      await tap(page)
      await tap(page)
      await down(page)
      await page.clock.runFor(500) // a hold takes 700 ms
      await page.evaluate(() => fetch('/healthz').then((answer) => answer.status))
      expect(sent).toEqual([])
      await page.clock.runFor(500)
      expect((await answer).permission).toBe(true)
    })
  }

  test('ignores the bulk approval key during the grace period', async ({ page, hub, agent }) => {
    const [first, second] = [(await agent.ask(hub, {})).id, (await agent.ask(hub, {})).id]
    await agent.ask(hub, {})
    await openAt(page, hub)
    await choose(page, first)
    const dialog = page.getByRole('dialog')
    await page.keyboard.press('Shift+A')
    await expect(dialog).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(dialog).toHaveCount(0)
    await pressKeyAtNext(page, first, 'A')
    await page.keyboard.press('a')
    await expect(page.locator('body')).toHaveAttribute('data-pressed', String(second))
    await page.keyboard.press('x') // works only if no dialog is open
    await expect(page.getByTestId('selection')).toContainText('1 selected')
    await expect(dialog).toHaveCount(0)
    await choose(page, second)
    await page.keyboard.press('Shift+A')
    await expect(dialog).toBeVisible()
  })

  test('shows all options uncut, right below the question', async ({ page, hub, agent }) => {
    const long = 'with a description that goes on for much longer than a button is wide, '.repeat(3)
    const choices = Array.from({ length: 20 }, (_, i) => `Module ${i + 1} ${i % 3 ? '' : long}`)
    const { id } = await agent.ask(hub, { type: 'choice', question: 'Which module first?', choices })
    await openAt(page, hub)
    await choose(page, id)
    const title = await detail(page, id).getByRole('heading', { level: 1 }).boundingBox()
    const options = detail(page, id).getByRole('button', { name: /Module/ })
    await expect(options).toHaveCount(20)
    expect((await options.first().boundingBox())!.y - title!.y - title!.height).toBeLessThan(80)
    const cut = await options.evaluateAll(
      (all) => all.filter((b) => b.scrollHeight > b.clientHeight + 1).length,
    )
    expect(cut).toBe(0)
  })

  test('shows, copies and sends numbers as the agent wrote them', async ({ page, hub, context }) => {
    const numbers = { to: '12345678901234567890', cents: '9007199254740993', limit: '1e400', rate: '5.0' }
    const deep = '"deep":{"share":0.12345678901234567891,"none":-0},"text":"a \\\\\\" 1e400"'
    const args = `{${Object.entries(numbers)
      .map(([name, number]) => `"${name}":${number}`)
      .join()},${deep},"note":"a"}`
    const ask = `{"type":"permission","question":"Pay?","toolCall":{"name":"set_limit","editable":true,"arguments":${args}}}`
    const posted = await fetch(hub.url + '/events', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: `{"source_app":"bank","session_id":"s","hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":${ask}}`,
    })
    const { id } = (await posted.json()) as { id: number }
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    for (const reload of [false, true]) {
      if (reload) await page.reload()
      else await openAt(page, hub)
      await choose(page, id)
      const call = detail(page, id).getByRole('region', { name: 'What will happen' })
      for (const number of Object.values(numbers))
        await expect(call.locator('dd.number').getByText(number, { exact: true })).toBeVisible()
      await call.getByText('Raw JSON').click()
      for (const number of [...Object.values(numbers), '0.12345678901234567891', '-0'])
        await expect(call.locator('.raw')).toContainText(`: ${number}`)
      await call.getByRole('button', { name: /Copy/ }).first().click()
      const copied = await page.evaluate(() => navigator.clipboard.readText())
      expect(copied.replaceAll(/\n\s*/g, '').replaceAll('": ', '":')).toBe(args)
    }
    await page.keyboard.press('e')
    await page.getByLabel('note', { exact: true }).fill('b')
    const sent = page.waitForRequest('**/respond')
    await page.getByRole('button', { name: 'Approve with 1 edit' }).click()
    expect((await sent).postData()).toContain(`"modifiedArguments":${args.replace('"a"}', '"b"}')}`)
    const response = async () => (await fetch(`${hub.url}/events/${id}`)).text()
    await expect.poll(response).toContain(args.replace('"a"}', '"b"}'))
  })

  for (const [tool, args, values] of [
    ['Bash', '{"command":"ls","command":"rm -rf /srv"}', ['ls', 'rm -rf /srv']],
    ['mcp__bank__pay', '{"to":{"cents":5,"cents":500}}', ['5', '500']],
  ] as const)
    test(`shows both values of an argument that ${tool} has twice, on the card and in the list`, async ({
      page,
      hub,
    }) => {
      const ask = `{"question":"Go on?","type":"permission","toolCall":{"name":"${tool}","arguments":${args}}}`
      const posted = await fetch(`${hub.url}/events`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: `{"source_app":"bank","session_id":"s","hook_event_type":"PreToolUse","payload":{},"humanInTheLoop":${ask}}`,
      })
      const { id } = (await posted.json()) as { id: number }
      await openAt(page, hub)
      await choose(page, id)
      await expect(row(page, id)).toContainText(`twice: ${values.join(' or ')}`)
      const call = detail(page, id).getByRole('region', { name: 'What will happen' })
      await expect(call.locator('dd')).toHaveText(args)
      await call.getByText('Raw JSON').click()
      await expect(call.locator('.raw')).toHaveText(args)
      await expect(detail(page, id)).toContainText('It contains the same argument twice.')
    })

  test('keeps the call and the decision buttons visible while editing', async ({ page, hub, agent }) => {
    const args = { a: 'one\ntwo\nthree', b: 'x\n'.repeat(20), c: 'z\n'.repeat(20), d: 1 }
    const { id } = await agent.ask(hub, { toolCall: { name: 'mcp__make', editable: true, arguments: args } })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('e')
    await expect(page.getByLabel('a', { exact: true })).toBeFocused()
    await expect(page.getByLabel('a', { exact: true })).toBeInViewport({ ratio: 1 })
    const pane = await page.getByRole('region', { name: `Request ${id}` }).boundingBox()
    expect(pane!.height).toBeGreaterThan(860 * 0.75)
    await expect(detail(page, id).getByRole('region', { name: 'What will happen' })).toBeAttached()
    for (let i = 0; i < 3; i++) await page.keyboard.press('Tab')
    await expect(page.getByLabel('d', { exact: true })).toBeFocused()
    await expect(page.getByLabel('d', { exact: true })).toBeInViewport({ ratio: 1 })
    await expect(detail(page, id).getByRole('button', { name: /^Approve|^Read/ })).toBeInViewport({
      ratio: 1,
    })
  })

  test('moves the focus to the next request and keeps it on the last one', async ({ page, hub, agent }) => {
    const first = await agent.ask(hub, { question: 'First' })
    const second = await agent.ask(hub, { question: 'Second' })
    await openAt(page, hub)
    await choose(page, first.id)
    await detail(page, first.id).getByRole('button', { name: /Deny/ }).click()
    await page.getByLabel(/instead/).press('Control+Enter')
    await first.answer
    await expect(detail(page, second.id).getByRole('heading', { level: 1 })).toBeFocused()
    await detail(page, second.id).getByRole('button', { name: /Deny/ }).click()
    await page.getByLabel(/instead/).press('Control+Enter')
    await second.answer
    await expect(detail(page, second.id).getByTestId('settled')).toBeVisible()
    await expect(detail(page, second.id).getByRole('heading', { level: 1 })).toBeFocused()
    await expect(row(page, second.id)).toBeVisible()
  })

  test.describe('on a phone', () => {
    test.use({ viewport: { width: 390, height: 780 } })

    test('requires the file changes to be loaded and scrolled before approval', async ({
      page,
      hub,
      agent,
    }) => {
      const lines = (word: string) => Array.from({ length: 60 }, (_, i) => `${word} ${i}`).join('\n')
      const args = { file_path: 'a.go', old_string: lines('old'), new_string: lines('new') }
      const { id } = await agent.ask(hub, { toolCall: { name: 'Edit', arguments: args } })
      let go: (() => void) | undefined
      const held = new Promise<unknown>((ok) => (go = () => ok(undefined)))
      await page.route('**/assets/shared-*.js', async (route) => {
        await held
        await route.continue()
      })
      await openAt(page, hub, `/inbox/${id}`)
      await expect(page.getByText('Comparing…')).toBeInViewport()
      const decide = detail(page, id).getByRole('button', { name: /^Scroll|^Approve/ })
      // The page reads the scroll position two frames later.
      await page.evaluate(() => new Promise((ok) => requestAnimationFrame(() => requestAnimationFrame(ok))))
      await expect(decide).toContainText('Scroll to review')
      go?.()
      await expect(page.getByText('new 59')).toBeAttached()
      await expect(decide).toContainText('Scroll to review')
      // An update of the request keeps the rendered lines.
      await detail(page, id)
        .getByText('new 59')
        .evaluate((line) => (line.id = 'same'))
      await hub.post(`/events/${id}/respond`, { permission: true, holdMs: 30_000 })
      await expect(detail(page, id).getByTestId('undo-banner')).toBeVisible()
      await hub.post(`/events/${id}/undo`, {})
      await expect(decide).toContainText('Scroll to review')
      await expect(page.locator('#same')).toHaveCount(1)
      await page.getByText('new 59').scrollIntoViewIfNeeded()
      await page.mouse.move(200, 300)
      await page.mouse.wheel(0, 9999)
      await expect(decide).toContainText('Approve')
    })
  })
})
