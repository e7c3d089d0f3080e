import { readFile } from 'node:fs/promises'
import { acceptedInputs } from '../src/testing/hostileInputs.ts'
import type { Agent } from './agent.ts'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import type { HubProcess } from './hub.ts'
import { expect, waitUntilLive, openAt, test, visit } from './fixtures.ts'
import type { Page } from '@playwright/test'

const sessionPath = '/sessions/api/s1'
const line = (page: Page, id: number) => page.locator(`[data-testid=turn-line][data-event="${id}"]`)
const lanes = (page: Page) => page.getByTestId('lanes')

/** Posts the start and end of a tool call. Returns the ids of both events. */
async function call(hub: HubProcess, tool: string, more: { use: string; fails?: string; agent?: object }) {
  const same = { tool_name: tool, tool_use_id: more.use, ...more.agent }
  const input = { tool_name: tool, tool_input: { file_path: `/src/${more.use}.go` } }
  const begin = await hub.event('PreToolUse', input, same)
  const end = await hub.event(
    more.fails ? 'PostToolUseFailure' : 'PostToolUse',
    more.fails ? { ...input, error: more.fails } : input,
    more.fails ? { ...same, error: more.fails } : same,
  )
  return [begin, end] as const
}

const usage = { input_tokens: 1200, output_tokens: 300, cache_read_input_tokens: 9000 }
const chat = [
  { type: 'user', message: { role: 'user', content: 'Clean up, <img src=x onerror=alert(1)>' } },
  {
    type: 'assistant',
    message: {
      id: 'm1',
      role: 'assistant',
      model: 'claude-opus-5',
      usage,
      content: [
        { type: 'thinking', thinking: 'Hm.' },
        { type: 'text', text: 'I **look** first.' },
        { type: 'tool_use', id: 't', name: 'Bash', input: { command: 'ls -la' } },
      ],
    },
  },
  {
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'a\nb' }] },
  },
  { type: 'file-history-snapshot', snapshot: { a: 1 } },
]

/** Posts a session with every kind of event. Returns the ids of some. */
async function postSession(hub: HubProcess, agent: Agent) {
  await hub.event('SessionStart', { source: 'startup', cwd: '/home/dev/api' })
  await hub.event('UserPromptSubmit', { prompt: 'Clean up the build' })
  const read = await call(hub, 'Read', { use: 'r1' })
  const explore = { agent_id: 'a1b2', agent_type: 'Explore' }
  await hub.event('SubagentStart', {}, explore)
  await call(hub, 'Grep', { use: 'g1', agent: explore })
  await hub.event('SubagentStop', {}, explore)
  const failed = await call(hub, 'Edit', { use: 'e1', fails: 'exit 1' })
  const tool = { tool_name: 'Bash', tool_use_id: 'b1' }
  const input = { tool_name: 'Bash', tool_input: { command: 'rm -rf build' } }
  const denied = await hub.event('PreToolUse', input, tool)
  const settled = await agent.ask(
    hub,
    { question: 'Delete build?', toolCall: { name: 'Bash', id: 'b1' } },
    tool,
  )
  await hub.post(`/events/${settled.id}/respond`, { permission: false })
  const stop = await hub.event('Stop', { last_assistant_message: 'Done' }, { chat })
  await hub.event('UserPromptSubmit', { prompt: 'Now deploy it' })
  const pending = await agent.ask(hub, { question: 'Deploy?' })
  return { read, failed, denied, settled: settled.id, stop, pending: pending.id }
}

/** Posts a nested subagent as Claude Code reports it, with its telemetry. */
async function postNestedAgents(hub: HubProcess) {
  const asks = (type: string) => ({ tool_name: 'Agent', tool_input: { subagent_type: type } })
  const explore = { agent_id: 'a1', agent_type: 'Explore' }
  const plan = { agent_id: 'a2', agent_type: 'Plan' }
  await hub.event('UserPromptSubmit', { prompt: 'Look around' })
  await hub.event('PreToolUse', asks('Explore'), { tool_use_id: 't1' })
  await hub.event('SubagentStart', {}, explore)
  await hub.event('PreToolUse', asks('Plan'), { tool_use_id: 't2', ...explore })
  await hub.event('SubagentStart', {}, plan)
  await call(hub, 'Read', { use: 'r1', agent: plan, fails: 'no such file' })
  await hub.event('SubagentStop', {}, plan)
  const text = (key: string, value: string) => ({ key, value: { stringValue: value } })
  const request = (n: number, model: string, cost: string, agent?: string) => ({
    timeUnixNano: `${1_795_275_818_416 + n}000000`,
    body: { stringValue: 'claude_code.api_request' },
    attributes: [
      text('session.id', 's1'),
      text('model', model),
      text('input_tokens', '1200'),
      text('output_tokens', '77'),
      text('cache_read_tokens', '9000'),
      text('cost_usd', cost),
      ...(agent ? [text('agent_id', agent)] : []),
    ],
  })
  const logRecords = [
    request(1, 'claude-opus-5-5', '1'),
    request(2, 'claude-opus-5-5', '0.5'),
    request(3, 'claude-haiku-4-5', '0.25', 'a1'),
  ]
  const resource = { attributes: [text('service.name', 'claude-code')] }
  await hub.post('/v1/logs', { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] })
}

test.describe('Sessions', () => {
  test.describe('timeline', () => {
    test('shows calls, failures, denials and waits by turn and agent', async ({ page, hub, agent }) => {
      const ids = await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('Clean up the build')
      await expect(page.getByTestId('turn')).toHaveCount(3)
      await expect(page.getByTestId('turn').nth(1)).toContainText('Clean up the build')
      await expect(page.getByTestId('turn').nth(1)).toContainText('1 failed')
      await expect(line(page, ids.read[1])).toContainText('Read')
      await expect(line(page, ids.read[0])).toHaveCount(0)
      await expect(line(page, ids.failed[1])).toContainText('failed')
      // The wait of a call is in the row of the call, and its detail beside the timeline.
      await expect(line(page, ids.settled)).toHaveCount(0)
      await expect(line(page, ids.denied)).toContainText(/denied.*waited/)
      await expect(line(page, ids.pending)).toContainText('needs you')
      await expect(page.getByText('waiting for a person:')).toBeVisible()
      await expect(lanes(page)).toHaveAttribute('data-bars', '12')
      const head = await page.getByTestId('turns').evaluate((turns) => {
        const top = turns.closest('main')?.getBoundingClientRect().top ?? 0
        return Math.round((document.querySelector('#session-body')?.getBoundingClientRect().top ?? 0) - top)
      })
      expect(head).toBeLessThanOrEqual(96)
      await line(page, ids.denied).click()
      const drawer = page.getByTestId('drawer')
      await expect(drawer).toBeVisible()
      const [side, timeline] = [await drawer.boundingBox(), await page.getByTestId('turns').boundingBox()]
      expect(side!.x).toBeGreaterThanOrEqual(timeline!.x + timeline!.width)
      await page.getByRole('button', { name: `Request #${ids.settled}` }).click()
      await expect(drawer).toContainText('Delete build?')
      await expect(line(page, ids.denied)).toHaveAttribute('aria-selected', 'true')
    })

    test('grows as the agent works and extends a wait until its answer', async ({ page, hub, agent }) => {
      const ids = await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      const wait = line(page, ids.pending)
      await expect(wait).toContainText('needs you')
      await expect(wait).toContainText(/waited ([2-9](\.\d)?|\d\d) s|waited \d+ min/)
      await hub.post(`/events/${ids.pending}/respond`, { permission: true })
      await expect(wait).toContainText('Approved')
      const [begin] = await call(hub, 'Write', { use: 'w1' })
      await expect(page.getByTestId('turn-line').last()).toContainText('Write')
      await page.goto(hub.url + sessionPath + '#' + begin)
      await expect(page.locator('[data-testid=turn-line][aria-selected=true]')).toContainText('Write')
    })

    test('opens at the linked event, also after a reload', async ({ page, hub }) => {
      await hub.event('UserPromptSubmit', { prompt: 'go' })
      await hub.batch(600, (i) => ({
        hook_event_type: i % 2 ? 'PostToolUse' : 'PreToolUse',
        tool_name: 'Read',
        tool_use_id: `u${i >> 1}`,
      }))
      await openAt(page, hub, sessionPath + '#21') // the second event of the tenth call
      const chosen = page.locator('[data-testid=turn-line][aria-selected=true]')
      await expect(chosen).toBeInViewport()
      await expect(chosen).toHaveAttribute('data-event', '21')
      await page.reload()
      await waitUntilLive(page)
      await expect(chosen).toBeInViewport()
      await expect(page).toHaveURL(/#21$/)
    })

    test('works by keyboard alone', async ({ page, hub, agent }) => {
      const ids = await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      await lanes(page).focus()
      await page.keyboard.press('Home')
      await page.keyboard.press('ArrowRight')
      await page.keyboard.press('ArrowRight')
      await expect(line(page, ids.read[1])).toHaveAttribute('aria-selected', 'true')
      await expect(page.getByTestId('tip')).toContainText('Read')
      await page.keyboard.press('ArrowDown')
      await expect(page.locator('#lane-bar')).toContainText('Explore')
      await page.keyboard.press('ArrowUp')
      await page.keyboard.press('+')
      await expect(lanes(page)).not.toHaveAttribute('data-zoom', '1.00')
      await page.keyboard.press('0')
      await expect(lanes(page)).toHaveAttribute('data-zoom', '1.00')
      await page.keyboard.press('Enter')
      await expect(page.getByTestId('drawer')).toBeVisible()
      await page.keyboard.press('Escape')
      await expect(page.getByTestId('drawer')).toBeHidden()
      await page.getByTestId('turns').focus()
      await page.keyboard.press('End')
      await expect(line(page, ids.pending)).toHaveAttribute('aria-selected', 'true')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await expect(page).toHaveURL(/\/sessions$/)
    })

    test('zooms with Ctrl and the wheel, scrolls and opens on click', async ({ page, hub, agent }) => {
      const ids = await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      await expect(line(page, ids.pending)).toBeVisible()
      const box = (await lanes(page).boundingBox())!
      await page.mouse.move(box.x + box.width * 0.6, box.y + 90)
      await page.keyboard.down('Control')
      await page.mouse.wheel(0, -400)
      await page.keyboard.up('Control')
      await expect(lanes(page)).not.toHaveAttribute('data-zoom', '1.00')
      const left = () => lanes(page).evaluate((scroller) => scroller.scrollLeft)
      const zoomed = await left()
      expect(zoomed).toBeGreaterThan(0)
      await page.mouse.wheel(-200, 0)
      await expect.poll(left).toBeLessThan(zoomed)
      await expect(page.getByTestId('drawer')).toBeHidden()
      await page.getByRole('button', { name: 'Show everything' }).click()
      await expect(lanes(page)).toHaveAttribute('data-zoom', '1.00')
      await lanes(page).locator('.wait.waiting').click()
      await expect(page.getByTestId('drawer')).toContainText('PermissionRequest')
      await expect(page).toHaveURL(new RegExp(`#${ids.pending}$`))
    })

    test('loads twenty thousand events and draws only the visible ones', async ({ page, hub }) => {
      for (let n = 0; n < 20; n++) {
        await hub.batch(1000, (i) => ({
          hook_event_type: i === 0 ? 'UserPromptSubmit' : i % 2 ? 'PreToolUse' : 'PostToolUse',
          payload: i === 0 ? { prompt: `turn ${n}` } : { tool_input: { command: `go test ./${i}` } },
          ...(i === 0 ? {} : { tool_name: 'Bash', tool_use_id: `u${n}-${(i - 1) >> 1}` }),
        }))
      }
      await openAt(page, hub, sessionPath)
      await expect(lanes(page)).toHaveAttribute('data-bars', '10020', { timeout: 120_000 })
      expect(await page.getByTestId('turn-line').count()).toBeLessThan(60)
      const bars = lanes(page).locator('[data-bar]')
      expect(await bars.count()).toBeLessThan(600)
      await lanes(page).focus()
      for (let i = 0; i < 12; i++) await page.keyboard.press('+')
      await expect(lanes(page)).not.toHaveAttribute('data-zoom', '1.00')
      expect(await bars.count()).toBeLessThan(1200)
      await page.keyboard.press('0')
      const slow = await page.evaluate(async () => {
        const list = document.querySelector('[data-testid=turns]') as HTMLElement
        const times: number[] = []
        for (let i = 0; i < 60; i++) {
          const began = performance.now()
          list.scrollTop = (list.scrollHeight / 60) * i
          await new Promise((next) => requestAnimationFrame(() => setTimeout(next)))
          times.push(performance.now() - began)
        }
        return times.sort((a, b) => a - b)[30] ?? 0
      })
      test.info().annotations.push({ type: 'measured', description: `a scroll step: ${slow.toFixed(1)} ms` })
      expect(await page.getByTestId('turn-line').count()).toBeLessThan(60)
    })
  })

  test.describe('transcript', () => {
    test('renders Markdown, collapsed calls, usage and unknown messages without running content', async ({
      page,
      hub,
      agent,
    }) => {
      await postSession(hub, agent)
      await openAt(page, hub, sessionPath + '?tab=transcript')
      const messages = page.getByTestId('transcript').getByRole('article')
      await expect(messages).toHaveCount(3)
      await expect(messages.first()).toContainText('<img src=x onerror=alert(1)>')
      await expect(page.getByTestId('transcript').locator('img')).toHaveCount(0)
      await expect(messages.nth(1).locator('strong')).toHaveText('look')
      await expect(messages.nth(1)).toContainText('1.2k (+9.0k cached) in, 300 out')
      await messages.nth(1).getByText('ls -la').click()
      await expect(messages.nth(1)).toContainText('Result')
      await page.getByRole('searchbox').fill('SNAPSHOT')
      await expect(page.getByRole('status').filter({ hasText: '1 of 1' })).toBeVisible()
      await expect(messages.nth(2)).toHaveClass(/found/)
    })

    test('is read again while the figures of the hub are behind', async ({ page, hub, agent }) => {
      await postSession(hub, agent)
      let reads = 0
      await page.route('**/api/session?**', async (route) => {
        const response = await route.fetch()
        const detail = (await response.json()) as { session: { transcript?: number }; lagMs?: number }
        if (++reads <= 4) {
          delete detail.session.transcript
          detail.lagMs = 3000
        }
        await route.fulfill({ response, json: detail })
      })
      await openAt(page, hub, sessionPath + '?tab=transcript')
      await expect(page.getByTestId('transcript').getByRole('article')).toHaveCount(3)
    })

    test('draws five thousand messages in parts and searches all of them', async ({ page, hub }) => {
      const long = Array.from({ length: 5000 }, (_, i) => ({
        role: i % 2 ? 'assistant' : 'user',
        content: `message number ${i} ${'words '.repeat(50)}`,
      }))
      await hub.event('Stop', {}, { chat: long })
      await openAt(page, hub, sessionPath + '?tab=transcript')
      await expect(page.getByTestId('transcript')).toHaveAttribute('data-messages', '5000')
      await page.getByRole('searchbox').fill('number 4321 ')
      await expect(page.getByRole('article', { name: 'message 4322' })).toBeInViewport()
      expect(await page.getByRole('article').count()).toBeLessThan(200)
      await page.getByRole('searchbox').fill('')
      await page.getByRole('button', { name: 'End' }).click()
      await expect(page.getByRole('article', { name: 'message 5000' })).toBeInViewport()
    })
  })

  test.describe('tools and export', () => {
    test('lists calls and failures of each tool', async ({ page, hub, agent }) => {
      await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      await page.getByRole('tab', { name: 'Tools' }).click()
      await expect(page).toHaveURL(/tab=tools/)
      const tools = page.getByTestId('tools')
      await expect(tools.getByRole('row', { name: /Edit/ })).toContainText('✕ 1')
      await expect(tools).toContainText('1.2k')
    })

    test('nests agents below their parents, with their telemetry', async ({ page, hub }) => {
      await postNestedAgents(hub)
      await openAt(page, hub, sessionPath + '?tab=agents')
      const rows = page.getByTestId('agents').getByRole('row')
      await expect(rows).toHaveText([
        /Agent/,
        /^main/,
        /Explore.*level 1, started by main/,
        /Plan.*level 2, started by Explore/,
      ])
      await expect(rows.nth(2)).toContainText('claude-haiku-4-5')
      await expect(rows.nth(2)).toContainText('$0.25')
      await expect(rows.nth(3)).toContainText('✕ 1')
      await page.getByRole('tab', { name: 'Tools' }).click()
      await expect(page.getByTestId('models').getByRole('row')).toHaveText([
        /Model/,
        /opus.*\$1\.50/,
        /haiku.*\$0\.25/,
      ])
      await expect(page.getByText('$1.75').first()).toBeVisible()
      await page.getByRole('tab', { name: 'Agents' }).click()
      await rows.nth(3).getByRole('link').click()
      await expect(page.locator('#lane-bar')).toContainText('Plan')
      await expect(lanes(page)).toHaveAttribute('data-bars', '7')
    })

    test('downloads the whole session', async ({ page, hub, agent }) => {
      await postSession(hub, agent)
      await openAt(page, hub, sessionPath)
      for (const [name, looks] of [
        ['Markdown', /Clean up the build/],
        ['NDJSON', /"hook_event_type":"SessionStart"/],
      ] as const) {
        await page.getByRole('button', { name: 'Export' }).click()
        const loading = page.waitForEvent('download')
        await page.getByRole('link', { name }).click()
        expect(await readFile(await (await loading).path(), 'utf8')).toMatch(looks)
      }
      await expect(page).toHaveURL(new RegExp(sessionPath + '$'))
    })
  })

  test.describe('list', () => {
    test('shows live sessions and links to them', async ({ page, hub, agent }) => {
      await openAt(page, hub, '/sessions')
      await expect(page.getByRole('heading', { name: 'No sessions yet' })).toBeVisible()
      await postSession(hub, agent)
      const rows = page.getByTestId('sessions').getByRole('link')
      await expect(rows).toHaveCount(1)
      await expect(rows.first()).toContainText('Clean up the build')
      await expect(rows.first()).toContainText('needs you')
      await expect(rows.first()).toContainText('~/api')
      await expect(rows.first()).toContainText('✕ 1 failed')
      await hub.event(
        'UserPromptSubmit',
        { prompt: 'Another thing' },
        { session_id: 's2', source_app: 'web' },
      )
      await expect(rows.first()).toContainText('Another thing')
      await hub.event('SessionEnd', {}, { session_id: 's2', source_app: 'web' })
      await expect(rows.first()).toContainText('ended')
      await rows.nth(1).click()
      await expect(page).toHaveURL(new RegExp(sessionPath + '$'))
      await page.goBack()
      await expect(rows).toHaveCount(2)
    })

    test('searches and filters, and keeps both in the URL', async ({ page, hub }) => {
      await hub.event('UserPromptSubmit', { prompt: 'Fix the parser' })
      await hub.event(
        'UserPromptSubmit',
        { prompt: 'Write the docs' },
        { session_id: 's2', source_app: 'web' },
      )
      await openAt(page, hub, '/sessions')
      const rows = page.getByTestId('sessions').getByRole('link')
      await expect(rows).toHaveCount(2)
      await page.getByLabel('Search sessions').fill('parser')
      await expect(rows).toHaveCount(1)
      await expect(page).toHaveURL(/q=parser/)
      await page.getByLabel('Search sessions').fill('nobody')
      await page.getByRole('button', { name: 'Show all sessions' }).click()
      await page.getByLabel('Agent', { exact: true }).selectOption('web')
      await expect(rows).toHaveCount(1)
      await expect(rows.first()).toContainText('Write the docs')
      await page.reload()
      await expect(rows).toHaveCount(1)
    })

    test('loads older sessions page by page', async ({ page, hub }) => {
      await hub.batch(120, (i) => ({
        session_id: `s${i}`,
        hook_event_type: 'UserPromptSubmit',
        payload: { prompt: `p${i}` },
      }))
      await openAt(page, hub, '/sessions')
      const rows = page.getByTestId('sessions').getByRole('link')
      await expect(rows).toHaveCount(50)
      await page.getByRole('button', { name: 'Load older sessions' }).click()
      await expect(rows).toHaveCount(100)
      await page.getByRole('button', { name: 'Load older sessions' }).click()
      await expect(rows).toHaveCount(120)
      await expect(page.getByText('All 120 sessions')).toBeVisible()
    })
  })

  test("link from an event drawer to its session and from the sidebar to an agent's sessions", async ({
    page,
    hub,
    agent,
  }) => {
    const ids = await postSession(hub, agent)
    await hub.event('Stop', {}, { source_app: 'frozen-one' })
    await hub.post('/api/freezes', { scope: 'app', source_app: 'frozen-one' })
    await openAt(page, hub, `/stream?event=${ids.stop}`)
    const drawer = page.getByTestId('drawer')
    await drawer.getByRole('tab', { name: 'Transcript' }).click()
    await expect(drawer.getByRole('article')).toHaveCount(3)
    await drawer.getByRole('link', { name: 'Open in session' }).click()
    await expect(page).toHaveURL(new RegExp(`${sessionPath}#${ids.stop}$`))
    await expect(line(page, ids.stop)).toHaveAttribute('aria-selected', 'true')
    await page
      .getByRole('region', { name: 'Agents in trouble' })
      .getByRole('link', { name: /frozen-one/ })
      .click()
    await expect(page).toHaveURL(/\/sessions\?agent=frozen-one$/)
    await expect(page.getByTestId('sessions').getByRole('link')).toHaveCount(1)
  })

  test('show hostile content as text in the timeline and the transcript', async ({ page, hub }) => {
    const ids: number[] = []
    for (const { body } of acceptedInputs) {
      if (typeof body !== 'string') continue
      const event = JSON.parse(body) as Record<string, unknown>
      const answer = await hub.post('/events', {
        ...event,
        source_app: 'api',
        session_id: 's1',
        chat: [event, event.payload],
      })
      ids.push(answer.id as number)
    }
    expect(ids.length).toBeGreaterThan(20)
    await page.addInitScript(() => (document.title = 'Hookback'))
    await openAt(page, hub, sessionPath)
    await expect(lanes(page)).not.toHaveAttribute('data-bars', '0')
    await lanes(page).focus()
    await page.keyboard.press('Home')
    for (let i = 0; i < 25; i++) await page.keyboard.press('ArrowRight')
    await page.getByTestId('turns').focus()
    await page.keyboard.press('Home')
    for (let i = 0; i < 25; i++) await page.keyboard.press('ArrowDown')
    await page.getByRole('tab', { name: 'Transcript' }).click()
    await expect(page.getByTestId('transcript')).toBeVisible()
    await openAt(page, hub, '/sessions')
    await expect(page.getByTestId('sessions')).toBeVisible()
    await expect(page).not.toHaveTitle(/pwned/)
    expect(await page.locator('main :is(script, iframe, object, embed)').count()).toBe(0)
  })

  // accessibility.spec.ts covers every screen; this covers their tabs and menus.
  for (const width of [1360, 390]) {
    test(`have no accessibility violations, light or dark, at ${width} px`, async ({ page, hub, agent }) => {
      await page.setViewportSize({ width, height: 844 })
      const ids = await postSession(hub, agent)
      await openAt(page, hub)
      for (const path of [
        '/sessions',
        sessionPath,
        `${sessionPath}#${ids.settled}`,
        `${sessionPath}?open=1#${ids.failed[1]}`,
        `${sessionPath}?tab=transcript`,
        `${sessionPath}?tab=agents`,
        `${sessionPath}?tab=tools`,
        '/sessions/nobody/nothing',
      ]) {
        await visit(page, path)
        await expect(
          page.locator(':is([data-testid=sessions], h1, [data-testid=drawer]):visible').first(),
        ).toBeVisible()
        await expect(page.getByText('Loading …')).toHaveCount(0)
        expect.soft(await accessibilityViolations(page), path).toEqual([])
        expect.soft(await horizontalOverflow(page), `${path} scrolls sideways`).toBeLessThanOrEqual(0)
      }
      await visit(page, sessionPath)
      await page.getByRole('button', { name: 'Export' }).click()
      expect.soft(await accessibilityViolations(page), 'export').toEqual([])
    })
  }

  test('fit 320 px and have targets of 24 px', async ({ page, hub, agent }) => {
    await page.setViewportSize({ width: 320, height: 640 })
    await postSession(hub, agent)
    await openAt(page, hub)
    for (const path of [
      '/sessions',
      sessionPath,
      `${sessionPath}?tab=transcript`,
      `${sessionPath}?tab=tools`,
    ]) {
      await visit(page, path)
      await expect(page.getByText('Loading …')).toHaveCount(0)
      expect.soft(await horizontalOverflow(page), path).toBeLessThanOrEqual(0)
      expect.soft(await smallTargets(page), path).toEqual([])
    }
  })
})
