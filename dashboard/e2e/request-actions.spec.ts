import type { Page, Route } from '@playwright/test'
import { accessibilityViolations } from './accessibility.ts'
import { Agent } from './agent.ts'
import {
  choose,
  detail,
  expect,
  waitUntilLive,
  openAt,
  pauseClock,
  row,
  skipGrace,
  test,
  visit,
} from './fixtures.ts'
import type { HubProcess } from './hub.ts'

/** Gives the next answer the longest undo window, so that a slow machine can still undo it. */
const holdLonger = (page: Page, url: string) =>
  page.route(
    url,
    (route) =>
      route.continue({
        postData: JSON.stringify({ ...(route.request().postDataJSON() as object), holdMs: 30_000 }),
      }),
    { times: 1 },
  )

const statusOf = async (hub: HubProcess, id: number) =>
  (await fetch(`${hub.url}/events/${id}`).then((r) => r.json())).humanInTheLoopStatus

const bash = (command: string, more = {}) => ({ toolCall: { name: 'Bash', arguments: { command }, ...more } })

/** Shows one screen of the dialog after the other, and approves the requests in it. */
async function confirm(page: Page, name: RegExp) {
  const dialog = page.getByRole('dialog')
  const show = dialog.getByRole('button', { name: /^Show/ }) // becomes the button that approves
  await skipGrace(page)
  while (await show.count()) await show.click({ timeout: 5000 }).catch(() => {})
  // A request that settles meanwhile may select another one, which starts a grace period again.
  await expect(async () => {
    if ((await dialog.count()) === 0) return
    await skipGrace(page)
    await dialog.getByRole('button', { name }).click({ timeout: 5000 })
    await expect(dialog).toHaveCount(0, { timeout: 5000 })
  }).toPass()
}

test.describe('Request actions', () => {
  test('have one row for like calls, and one key that approves those on screen', async ({
    page,
    hub,
    agent,
  }) => {
    const asked = []
    for (const name of ['a', 'b', 'c', 'd'])
      asked.push(await agent.ask(hub, bash(`go test ./internal/${name}`), { session_id: name }))
    const [one = 0, two = 0, three = 0, four = 0] = asked.map((a) => a.id)
    await agent.ask(hub, bash('rm -rf ~'))
    await page.clock.install()
    await openAt(page, hub)
    await choose(page, one)
    await expect(row(page, one)).toContainText('4 × Run go test …')
    for (const id of [two, three, four]) await expect(row(page, id)).toHaveCount(0)
    expect(Math.round((await row(page, one).boundingBox())!.height)).toBeGreaterThanOrEqual(40)
    expect(Math.round((await row(page, one).boundingBox())!.height)).toBeLessThanOrEqual(48)
    const group = detail(page, one).getByTestId('group')
    await expect(group.getByRole('checkbox')).toHaveCount(4)
    await expect(group.locator('li mark')).toHaveText(['a', 'b', 'c', 'd'].map((n) => `./internal/${n}`))
    expect(await accessibilityViolations(page)).toEqual([])

    // Another call joins: it is shown, and a key that was meant for the others decides nothing.
    await page.evaluate(() => {
      const shown = new MutationObserver(() => {
        if (document.querySelectorAll('[data-testid=group] input').length < 5) return
        shown.disconnect()
        const key = { key: 'A', shiftKey: true, bubbles: true, cancelable: true }
        document.body.dispatchEvent(new KeyboardEvent('keydown', key))
        document.body.dataset.pressed = 'A'
      })
      shown.observe(document.body, { childList: true, subtree: true })
    })
    const fifth = await agent.ask(hub, bash('go test ./internal/e'), { session_id: 'e' })
    await expect(group.getByRole('checkbox')).toHaveCount(5)
    await expect(page.locator('body')).toHaveAttribute('data-pressed', 'A')
    expect((await statusOf(hub, one)).status).toBe('pending')
    expect((await statusOf(hub, one)).held).toBeUndefined()

    await group.getByRole('checkbox', { name: /internal\/b / }).uncheck()
    await skipGrace(page)
    await page.keyboard.press('Shift+A')
    await expect(page.getByTestId('undo')).toContainText('4 approved')
    for (const id of [one, three, four, fifth.id])
      await expect.poll(async () => (await statusOf(hub, id)).held?.outcome).toBe('approve')
    await expect(row(page, two)).toContainText('Run go test ./internal/b')
    expect((await statusOf(hub, two)).status).toBe('pending')
    await page.clock.runFor(15_000)
    for (const at of [0, 2, 3]) expect((await asked[at]!.answer).permission).toBe(true)

    await choose(page, two)
    await expect(detail(page, two).getByTestId('group')).toHaveCount(0)
  })

  test('approve no like call of which only the top edge was on screen, and answer after a key that moves', async ({
    page,
    hub,
    agent,
  }) => {
    const asked = []
    for (const name of ['a', 'b', 'c'])
      asked.push(await agent.ask(hub, bash(`go test ./internal/${name}`), { timeout: 3600 }))
    const ids = asked.map((a) => a.id)
    const other = await agent.ask(hub, bash('ls'), { timeout: 3600 })
    await page.setViewportSize({ width: 390, height: 780 })
    const path = `/inbox/${ids[0]}`
    await openAt(page, hub, path)
    const last = detail(page, ids[0]!).getByTestId('group').locator('label').last()
    const footer = detail(page, ids[0]!).locator('footer')
    const [row, bar] = [(await last.boundingBox())!, (await footer.boundingBox())!]
    const height = Math.ceil(row.y + 1 + bar.height)
    await page.setViewportSize({ width: 390, height }) // one pixel of the last row
    await page.clock.install()
    await openAt(page, hub, path)
    await expect(last).toBeInViewport()
    await skipGrace(page)
    await page.keyboard.press('Shift+A')
    await expect(last).toBeInViewport({ ratio: 1 })
    for (const id of ids) expect((await statusOf(hub, id)).held).toBeUndefined()
    await page.keyboard.press('j')
    await expect(detail(page, other.id).getByRole('button', { name: /^Approve/ })).toBeVisible()
    await page.keyboard.press('a')
    expect((await other.answer).permission).toBe(true)
    for (const id of ids) expect((await statusOf(hub, id)).held).toBeUndefined()
  })

  test('approve several reviewed requests without the risky ones, and undo them', async ({
    page,
    context,
    hub,
    agent,
    watch,
  }) => {
    const long = 'echo begin && ' + 'true && '.repeat(40) + 'echo the-very-end'
    const asked = [
      await agent.ask(hub, { question: 'List', ...bash('ls -l') }),
      await agent.ask(hub, { question: 'Print', ...bash(long) }),
      await agent.ask(hub, { question: 'Test', ...bash('go test ./...') }),
    ]
    const [one, two, three] = asked.map((a) => a.id) as [number, number, number]
    const { id: risky } = await agent.ask(hub, { question: 'Wipe', ...bash('rm -rf ~') })
    const { id: question } = await agent.ask(hub, { type: 'question', question: 'Name?' })
    const other = await context.newPage()
    await watch(other)
    await page.clock.install()
    await openAt(page, hub)
    await openAt(other, hub)
    await holdLonger(page, '**/events/approve')
    await page.bringToFront() // a page in the background draws no frames
    await choose(page, one)
    await page.keyboard.press('Shift+A')
    const dialog = page.getByRole('dialog', { name: 'Approve 3 requests?' })
    await expect(dialog.locator('.call-preview').getByText('echo the-very-end')).toBeAttached()
    await expect(dialog.locator(`[data-id="${risky}"], [data-id="${question}"]`)).toHaveCount(0)
    await expect(dialog).toContainText('Risky requests must be approved one at a time')
    await expect(dialog).toContainText('Only permissions can be approved in bulk')
    await confirm(page, /Approve 3 requests/)
    await expect(page.getByTestId('undo')).toContainText('3 approved')
    await expect(row(other, two)).toContainText(/undo \d+ s/)
    expect((await statusOf(hub, one)).held.outcome).toBe('approve')

    await page.getByText('One by one').click()
    await page.getByRole('button', { name: /^Undo: Run echo begin/ }).click()
    await expect(page.getByRole('region', { name: 'Needs you' }).locator(`[data-id="${two}"]`)).toBeVisible()
    await page.keyboard.press('z')
    for (const id of [one, three]) await expect(row(other, id)).not.toContainText('undo')
    await expect(page.getByTestId('undo')).toHaveCount(0)
    for (const id of [one, two, three, risky]) expect((await statusOf(hub, id)).status).toBe('pending')

    for (const id of [one, three]) await expect(row(page, id)).toBeVisible()
    await choose(page, one)
    await page.keyboard.press('.') // undone requests were appended; sort them again
    await expect(page.getByText(/^\d+ moved/)).toHaveCount(0)
    await page.keyboard.press('x')
    await page.keyboard.press('Shift+J')
    await expect(page.getByTestId('selection')).toContainText('2 selected')
    await page.keyboard.press('Shift+A')
    await page
      .getByRole('dialog')
      .getByRole('checkbox', { name: /echo begin|go test/ })
      .uncheck()
    await confirm(page, /Approve this request/)
    expect((await asked[0]!.answer).permission).toBe(true)
    for (const id of [two, three]) expect((await statusOf(hub, id)).status).toBe('pending')
  })

  test('approve many in a table by shape that starts like the open one, and only what was on screen', async ({
    page,
    hub,
  }) => {
    const ask = (command: string) =>
      hub.event(
        'PermissionRequest',
        {},
        {
          humanInTheLoop: { type: 'permission', question: 'Run a command', timeout: 3600, ...bash(command) },
        },
      )
    const first: number[] = []
    for (let n = 1; n <= 30; n++) first.push(await ask(`go test ./internal/pkg${n}`))
    const unusual = await ask('make deploy')
    const second: number[] = []
    for (let n = 1; n <= 6; n++) second.push(await ask(`npm run build ./pkg${n}`))
    await page.clock.install()
    await page.setViewportSize({ width: 1360, height: 420 })
    await openAt(page, hub, `/inbox/${second[2]}`)
    await expect(detail(page, second[2]!)).toBeVisible()
    await skipGrace(page)
    await page.getByRole('button', { name: 'Review and approve 37' }).click()
    const dialog = page.getByRole('dialog', { name: 'Approve 37 requests?' })
    const lines = dialog.locator('.line .title')
    await expect(lines).toHaveText([/^\d × npm run build …$/, '30 × go test …'])
    await expect(dialog.locator('mark').getByText('./internal/pkg7', { exact: true })).toBeVisible()
    await expect(dialog.getByRole('region', { name: `What will happen (#${unusual})` })).toContainText(
      'make deploy',
    )
    await skipGrace(page)
    const button = dialog.getByRole('button', { name: /^(Show|Approve)/ })
    await expect(button).toContainText(/Show \d+ more/)
    await dialog.locator('.inner').evaluate((frame) => frame.scrollTo({ top: frame.scrollHeight }))
    await expect(dialog.locator(`[data-id="${unusual}"]`)).toBeInViewport()
    await expect(button).toContainText(/Show \d+ more/) // the middle was not on screen
    for (let presses = 0; presses < 6 && /Show/.test((await button.textContent()) ?? ''); presses++)
      await button.click()
    await dialog.getByRole('checkbox', { name: `go test ./internal/pkg9 (#${first[8]})` }).uncheck()
    const sent = page.waitForRequest('**/events/approve')
    await dialog.getByRole('button', { name: 'Approve 36 requests' }).click()
    const { requests } = (await sent).postDataJSON() as { requests: { id: number }[] }
    const expected = [...first, unusual, ...second].filter((id) => id !== first[8])
    expect(requests.map((r) => r.id).sort((a, b) => a - b)).toEqual(expected)
  })

  test('show a call of several screens in bulk, one screen per press', async ({ page, hub, agent }) => {
    const lines = Array.from({ length: 40 }, (_, i) => `echo line ${i}`).join('\n')
    const long = await agent.ask(hub, bash(lines), { timeout: 3600 })
    await agent.ask(hub, bash('ls'), { timeout: 3600 })
    await page.clock.install()
    await page.setViewportSize({ width: 1360, height: 420 })
    await openAt(page, hub, `/inbox/${long.id}`)
    await expect(detail(page, long.id)).toBeVisible()
    await skipGrace(page)
    await page.keyboard.press('Shift+A')
    const button = page.getByRole('dialog').getByRole('button', { name: /^(Show|Approve)/ })
    await skipGrace(page)
    let presses = 0
    for (; presses < 15 && /Show/.test((await button.textContent()) ?? ''); presses++) {
      await button.click()
      await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))))
    }
    await expect(button).toContainText('Approve 2 requests')
    expect(presses).toBeGreaterThan(2)
  })

  test('refuse to select a risky request and explain why', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, bash('rm -rf ~'))
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('x')
    await expect(page.getByText('Risky requests must be approved one at a time.')).toBeVisible()
    await expect(page.getByTestId('selection')).toHaveCount(0)
  })

  test('leave out a request that changed while the dialog was open', async ({ page, hub, agent }) => {
    const first = await agent.ask(hub, { question: 'First' })
    const second = await agent.ask(hub, { question: 'Second' })
    await page.clock.install()
    await openAt(page, hub)
    await choose(page, first.id)
    await page.keyboard.press('Shift+A')
    await expect(page.getByRole('dialog')).toBeVisible()
    await hub.post(`/events/${first.id}/respond`, { permission: false })
    await expect(page.getByRole('dialog')).toContainText('Another answer came first')
    await confirm(page, /Approve this request/)
    expect((await second.answer).permission).toBe(true)
    expect((await first.answer).permission).toBe(false)
  })

  test('hold an approval of a call that may change something, and send everything else immediately', async ({
    page,
    hub,
    agent,
  }) => {
    const deploy = await agent.ask(hub, { question: 'Deploy?', ...bash('make deploy') })
    const list = await agent.ask(hub, {
      question: 'List?',
      context: { cwd: '/srv/shop' },
      ...bash('ls -l'),
    })
    const sent: number[] = []
    await page.route('**/respond', (route) => {
      const answer = route.request().postDataJSON() as { holdMs?: number }
      sent.push(answer.holdMs ?? 0)
      // The longest window: a slow machine can still undo it.
      return route.continue({ postData: JSON.stringify({ ...answer, holdMs: answer.holdMs && 30_000 }) })
    })
    const undo = page.getByTestId('undo')
    await openAt(page, hub)
    await page.keyboard.press('z')
    await choose(page, deploy.id)
    await expect(undo).toHaveCount(0)
    await page.keyboard.press('a')
    await expect(undo.locator('.time-left')).toBeAttached()
    await choose(page, deploy.id)
    await expect(detail(page, deploy.id).getByTestId('undo-banner')).toContainText(
      /Sent to the agent in \d+ s/,
    )
    await page.keyboard.press('z')
    await expect(detail(page, deploy.id).getByRole('button', { name: /Approve/ })).toBeVisible()
    await choose(page, deploy.id)
    await page.keyboard.press('Shift+D')
    expect((await deploy.answer).permission).toBe(false)
    await page.keyboard.press('z')
    await expect(undo).toHaveText('Already sent')
    await choose(page, list.id)
    await page.keyboard.press('a')
    expect((await list.answer).permission).toBe(true)
    expect(sent).toEqual([2000, 0, 0])
  })

  test('send an approval at once if the setting says so', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, { question: 'Deploy?' })
    await page.addInitScript(() => localStorage.setItem('hookback.settings', JSON.stringify({ undo: 0 })))
    await openAt(page, hub)
    await choose(page, id)
    const sent = page.waitForRequest('**/respond')
    await page.keyboard.press('a')
    expect((await sent).postDataJSON()).not.toHaveProperty('holdMs')
    expect((await answer).permission).toBe(true)
  })

  test('retry an undelivered answer or mark it as handled, on every page', async ({
    page,
    context,
    hub,
    agent,
    watch,
  }) => {
    const { id } = await agent.ask(hub, { question: 'Apply the plan?' })
    const { id: kept } = await agent.ask(hub, { question: 'Restart?' })
    await agent.stop()
    const other = await context.newPage()
    await watch(other)
    await openAt(page, hub)
    await openAt(other, hub)
    for (const each of [id, kept]) {
      await visit(page, `/inbox/${each}`) // opens the group of requests whose agent is gone
      await choose(page, each)
      await page.keyboard.press('a')
      await expect(
        page.getByRole('region', { name: 'Not delivered' }).locator(`[data-id="${each}"]`),
      ).toBeVisible()
    }
    await choose(page, id)
    await expect(detail(page, id).getByTestId('delivery-problem')).toContainText(/next attempt in|attempts/)
    const before = (await statusOf(hub, id)).delivery.attempts
    await detail(page, id).getByRole('button', { name: 'Retry now' }).click()
    await expect.poll(async () => (await statusOf(hub, id)).delivery.attempts).toBeGreaterThan(before)
    await choose(page, kept)
    await detail(page, kept).getByRole('button', { name: 'Mark as handled' }).click()
    await expect(detail(page, kept)).toContainText('marked as handled')
    for (const each of [page, other])
      await expect(
        each.getByRole('region', { name: 'Not delivered' }).locator(`[data-id="${kept}"]`),
      ).toHaveCount(0)
    await other.reload()
    await waitUntilLive(other)
    await expect(
      other.getByRole('region', { name: 'Not delivered' }).locator(`[data-id="${id}"]`),
    ).toBeVisible()
    await expect(
      other.getByRole('region', { name: 'Not delivered' }).locator(`[data-id="${kept}"]`),
    ).toHaveCount(0)
  })

  test('show the execution of the call after the delivery', async ({ page, hub, agent }) => {
    const call = { tool_use_id: 'toolu_1', tool_name: 'Bash' }
    const { id, answer } = await agent.ask(hub, bash('go vet ./...', { id: 'toolu_1' }), call)
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('a')
    await answer
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText('runs')
    const end = await hub.event('PostToolUse', { tool_name: 'Bash', tool_response: 'ok' }, call)
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText(/ran|continued/)
    await expect(detail(page, id).getByTestId('delivery-steps').getByRole('link')).toHaveAttribute(
      'href',
      `/stream?event=${end}`,
    )
  })

  test('keep the draft when the hub rejects the answer', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, bash('ls', { editable: true }))
    await openAt(page, hub)
    await page.route('**/respond', (route) =>
      route.fulfill({
        status: 503,
        contentType: 'application/problem+json',
        body: JSON.stringify({
          type: '',
          title: 'Busy',
          status: 503,
          code: 'busy',
          detail: 'Too much to do.',
          error: '',
        }),
      }),
    )
    await choose(page, id)
    await page.keyboard.press('d')
    await page.getByLabel(/instead/).fill('Use the copy')
    await page.getByLabel(/instead/).press('Control+Enter')
    await expect(detail(page, id).getByRole('alert')).toContainText('Too much to do.')
    await expect(page.getByLabel(/instead/)).toHaveValue('Use the copy')
    await page.unroute('**/respond')
    await page.reload()
    await waitUntilLive(page)
    await expect(page.getByLabel(/instead/)).toHaveValue('Use the copy')
    await page.getByLabel(/instead/).press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, reason: 'Use the copy' })
  })

  test('keep edits across a reload and reset each one', async ({ page, hub, agent }) => {
    const args = { command: 'echo a', timeout: 5 }
    const { id, answer } = await agent.ask(hub, {
      toolCall: { name: 'Bash', editable: true, arguments: args },
    })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('e')
    await page.getByLabel('command', { exact: true }).fill('echo b')
    await page.getByLabel('timeout', { exact: true }).fill('60')
    await page.reload()
    await waitUntilLive(page)
    await expect(page.getByLabel('command', { exact: true })).toHaveValue('echo b')
    await page.getByRole('button', { name: 'Reset' }).first().click()
    await expect(page.getByLabel('command', { exact: true })).toHaveValue('echo a')
    await page.getByRole('button', { name: /Approve with 1 edit/ }).click()
    expect(await answer).toMatchObject({ permission: true, modifiedArguments: { ...args, timeout: 60 } })
  })

  test('snooze a request but never one with a near deadline', async ({ page, hub, agent }) => {
    const { id: soon } = await agent.ask(hub, { question: 'Soon', timeout: 90 })
    const { id } = await agent.ask(hub, { question: 'Later', timeout: 3600 })
    const { id: third } = await agent.ask(hub, { question: 'Third', timeout: 7200 })
    await openAt(page, hub)
    await choose(page, soon)
    await page.keyboard.press('h')
    await expect(page.getByText('It expires soon')).toBeVisible()
    await choose(page, id)
    await page.keyboard.press('h')
    await expect(detail(page, third)).toBeVisible()
    const aside = page.getByRole('region', { name: 'Snoozed' })
    await expect(aside.locator(`[data-id="${id}"]`)).toContainText(/snoozed 4:\d\d/)
    await page.reload()
    await waitUntilLive(page)
    await choose(page, id)
    await page.keyboard.press('h')
    await expect(aside).toHaveCount(0)
  })

  test('find settled requests by state and text', async ({ page, hub, agent }) => {
    const ask = async (question: string) => (await agent.ask(hub, { question })).id
    const [yes, gone, open] = [await ask('Approve me'), await ask('Cancel me'), await ask('Leave me')]
    await hub.post(`/events/${yes}/respond`, { permission: true })
    await hub.post(`/events/${gone}/cancel`, { reason: 'no' })
    await openAt(page, hub)
    await page.getByRole('button', { name: 'Done' }).click()
    const which = page.getByRole('combobox', { name: 'Which requests' })
    await which.selectOption('decided')
    await expect(row(page, yes)).toContainText('Approved')
    await expect(row(page, gone)).toHaveCount(0)
    await which.selectOption('cancelled')
    await expect(row(page, gone)).toContainText('Canceled')
    await page.keyboard.press('j')
    await expect(detail(page, gone)).toContainText('Message to the agent')
    await page.getByRole('button', { name: /^Open/ }).click()
    await page.keyboard.press('/')
    await page.keyboard.type('nothing like it')
    await expect(page.getByText('none match the filter')).toBeVisible()
    await page.getByLabel('Search the requests').fill('leave')
    await expect(row(page, open)).toBeVisible()
  })

  test('make the list one tab stop', async ({ page, hub, agent }) => {
    for (let i = 0; i < 4; i++) await agent.ask(hub, { question: `Q${i}` })
    await openAt(page, hub)
    await expect(page.getByTestId('list').locator('a[tabindex="0"]')).toHaveCount(1)
    await page.getByTestId('list').locator('a[tabindex="0"]').focus()
    await page.keyboard.press('ArrowDown')
    await expect(page.getByTestId('list').locator('a:focus')).toContainText('Q1')
    await page.keyboard.press('Tab')
    await expect(page.getByTestId('list').locator(':focus')).toHaveCount(0)
  })

  test('show that another screen has the same request open', async ({ page, context, hub, agent, watch }) => {
    const { id } = await agent.ask(hub, {})
    const other = await context.newPage()
    await watch(other)
    await openAt(page, hub, `/inbox/${id}`)
    await expect(page.getByTestId('other-viewers')).toHaveCount(0)
    await openAt(other, hub, `/r/${id}`)
    await expect(page.getByTestId('other-viewers')).toContainText('another screen')
    await other.close()
    await expect(page.getByTestId('other-viewers')).toHaveCount(0)
  })

  test.describe('on the page of one request', () => {
    test.use({ viewport: { width: 390, height: 780 }, hasTouch: true })

    test('answer it on a phone and show the delivery', async ({ page, hub, agent }) => {
      const { id, answer } = await agent.ask(hub, { question: 'Run the tests', ...bash('go test ./...') })
      await page.clock.install()
      await page.goto(`${hub.url}/r/${id}`)
      const approve = page.getByRole('button', { name: /^Approve/ })
      await expect(approve).toBeVisible()
      await expect(page.getByRole('navigation')).toHaveCount(0)
      const [box, deny] = [
        await approve.boundingBox(),
        await page.getByRole('button', { name: /Deny/ }).boundingBox(),
      ]
      const footer = await page.locator('.detail footer').boundingBox()
      const end = footer!.y + footer!.height
      // Side by side, in a bar of at most 96 px.
      for (const { height, width, y } of [box!, deny!]) {
        expect(width).toBeGreaterThan(150)
        expect(height).toBeGreaterThanOrEqual(44)
        expect(y).toBe(box!.y)
        expect(end - y).toBeLessThanOrEqual(96)
        expect(end).toBeLessThanOrEqual(780)
      }
      await skipGrace(page)
      await approve.tap()
      expect((await answer).permission).toBe(true)
      await expect(page.getByTestId('delivery-steps')).toContainText('delivered')
    })

    test('require press-and-hold by touch for a risky request', async ({ page, hub, agent }) => {
      const { id, answer } = await agent.ask(hub, { risk: 'high' })
      await page.clock.install()
      await page.goto(`${hub.url}/r/${id}`)
      const approve = page.getByRole('button', { name: /^Approve/ })
      await expect(approve).toBeVisible()
      await pauseClock(page) // so that a tap is shorter than a hold on any machine
      await approve.tap()
      expect((await statusOf(hub, id)).status).toBe('pending')
      await page.clock.resume()
      await approve.dispatchEvent('pointerdown', { pointerType: 'touch', button: 0 })
      expect((await answer).permission).toBe(true)
    })

    test('report a missing request and an unreachable hub', async ({ page, hub, agent }) => {
      const { id } = await agent.ask(hub, { type: 'question', question: 'Name?' })
      await page.goto(`${hub.url}/r/99999`)
      await expect(page.getByTestId('not-found')).toContainText('Request 99999 not found')
      await page.goto(`${hub.url}/r/${id}`)
      await page.getByLabel('Your answer').fill('half a sen')
      await hub.stop()
      await expect(page.getByTestId('offline')).toContainText('can’t be reached')
      await hub.restart()
      await expect(page.getByTestId('offline')).toHaveCount(0)
      await expect(page.getByLabel('Your answer')).toHaveValue('half a sen')
    })
  })

  test('never lose an answer when the hub stops while it handles the answer', async ({ page, hub }) => {
    const agent = await Agent.start()
    const { id, answer } = await agent.ask(hub, { type: 'question', question: 'Name?' })
    await openAt(page, hub)
    await choose(page, id)
    await page.getByLabel('Your answer').fill('the name')
    // The hub accepts the answer and stops before the page gets the response.
    const dieOnce = async (route: Route) => {
      await route.fetch()
      await hub.stop()
      await route.abort()
    }
    await page.route('**/respond', dieOnce, { times: 1 })
    await page.getByLabel('Your answer').press('Control+Enter')
    await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
    await hub.restart()
    await waitUntilLive(page)
    await expect(detail(page, id).getByTestId('settled')).toContainText('the name')
    expect((await answer).response).toBe('the name')
    await agent.stop()
  })
})
