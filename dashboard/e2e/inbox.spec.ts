import { WebSocketServer } from 'ws'
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
  pressKeyAtNext,
  test,
} from './fixtures.ts'

const delivered = /delivered/

test.describe('Inbox', () => {
  test('shows a new request, answers it with one key and shows the delivery', async ({
    page,
    hub,
    agent,
  }, info) => {
    await openAt(page, hub)
    await expect(page.getByRole('heading', { name: 'No requests yet' })).toBeVisible()
    await page.evaluate(() => {
      new MutationObserver((_, me) => {
        if (!document.body.textContent.includes('Delete ./build?')) return
        document.body.dataset.seen = String(Date.now())
        me.disconnect()
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
    const posted = Date.now()
    const { id, answer } = await agent.ask(hub, { question: 'Delete ./build?' })
    await expect(detail(page, id)).toBeVisible()
    await expect(page).toHaveTitle('(1) Hookback')
    await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon-waiting.svg')
    await expect(page.getByTestId('polite')).toHaveText('api asks: Delete ./build?')
    const seen = Number(await page.locator('body').getAttribute('data-seen')) - posted
    info.annotations.push({ type: 'measured', description: `POST to row on screen: ${seen} ms` })

    await choose(page, id)
    await page.keyboard.press('a')
    expect((await answer).permission).toBe(true)
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText(delivered)
    await expect(detail(page, id).getByTestId('settled')).toContainText('Approved')
    await expect(detail(page, id).getByTestId('settled')).toContainText('by you')
    await expect(detail(page, id).getByTestId('settled')).toContainText('unverified')
    await expect(page).toHaveTitle('Hookback')
    await expect(page.locator('link[rel=icon]')).toHaveAttribute('href', '/favicon.svg')
  })

  test('selects the next request after an answer and ignores keys in the grace period', async ({
    page,
    hub,
    agent,
  }) => {
    const asked = [await agent.ask(hub, {}), await agent.ask(hub, {}), await agent.ask(hub, {})]
    await openAt(page, hub)
    await choose(page, asked[0]!.id)
    await pressKeyAtNext(page, asked[0]!.id, 'a') // ignored: within the grace period
    await page.keyboard.press('a')
    await expect(page.locator('body')).toHaveAttribute('data-pressed', String(asked[1]!.id))
    expect((await asked[0]!.answer).permission).toBe(true)
    await expect(page.getByTestId('last-answer')).toContainText(delivered)
    await expect(detail(page, asked[1]!.id).getByRole('button', { name: /Approve/ })).toBeVisible()
    await page.keyboard.press('j')
    await expect(detail(page, asked[2]!.id)).toBeVisible()
    await page.keyboard.press('Shift+D')
    expect((await asked[2]!.answer).permission).toBe(false)
  })

  test('selects a request that arrives in an empty inbox and ignores keys in the grace period', async ({
    page,
    hub,
    agent,
  }) => {
    await page.clock.install()
    await openAt(page, hub)
    const first = await agent.ask(hub, {})
    await choose(page, first.id)
    await page.keyboard.press('a')
    await expect(detail(page, first.id).getByTestId('delivery-steps')).toContainText(delivered)
    await pressKeyAtNext(page, first.id, 'a') // ignored: within the grace period
    const second = await agent.ask(hub, {})
    await expect(page.locator('body')).toHaveAttribute('data-pressed', String(second.id))
    await skipGrace(page)
    await page.keyboard.press('Shift+D')
    await expect(detail(page, second.id).getByTestId('settled')).toBeVisible()
    expect((await second.answer).permission).toBe(false)
  })

  test('keeps the selection and the draft when a request arrives', async ({ page, hub, agent }) => {
    const first = await agent.ask(hub, { type: 'question', question: 'Name?' })
    await openAt(page, hub)
    await choose(page, first.id)
    await page.keyboard.press('r')
    await page.keyboard.type('add a D')
    const second = await agent.ask(hub, {})
    await expect(row(page, second.id)).toBeVisible()
    await page.keyboard.type('-team')
    await expect(page.getByLabel('Your answer')).toHaveValue('add a D-team')
    await page.reload()
    await expect(page.getByLabel('Your answer')).toHaveValue('add a D-team')
    await page.getByLabel('Your answer').press('Control+Enter')
    expect((await first.answer).response).toBe('add a D-team')
    await expect(row(page, second.id)).toContainText('May I?')
  })

  test('sends a choice with a comment', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, {
      type: 'choice',
      question: 'Which runner?',
      choices: ['Jest', 'Vitest', 'Mocha'],
    })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('c')
    await page.getByLabel('Comment').fill('for its speed')
    await page.getByLabel('Comment').press('Escape')
    await page.keyboard.press('c')
    await page.getByRole('button', { name: /Vitest/ }).click()
    expect(await answer).toMatchObject({ choice: 'Vitest', comment: 'for its speed' })
  })

  test('is answered by key on French, German and Russian keyboards', async ({ page, hub, agent }) => {
    await openAt(page, hub)
    const press = (key: string, code: string, shiftKey = false) =>
      page.locator('body').dispatchEvent('keydown', { key, code, shiftKey })
    for (const [key, shiftKey] of [
      ['é', false],
      ['2', true],
    ] as const) {
      const { id, answer } = await agent.ask(hub, { type: 'choice', choices: ['Jest', 'Vitest'] })
      await choose(page, id)
      await press(key, 'Digit2', shiftKey)
      expect(await answer).toMatchObject({ choice: 'Vitest' })
    }
    const form = { questions: [{ id: 'a', question: 'Which?', options: [{ label: 'x' }] }] }
    const { id } = await agent.ask(hub, { type: 'question', ...form })
    const { id: call, answer } = await agent.ask(hub, {})
    await choose(page, id)
    await press('/', 'Digit7', true) // also 7 by its place, which the form takes
    await expect(page.getByLabel('Search the requests')).toBeFocused()
    await choose(page, call)
    await press('ф', 'KeyA')
    expect(await answer).toMatchObject({ permission: true })
  })

  test('sends a denial with its reason', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, { reasonRequired: 'deny' })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('Shift+D') // opens the form, because a reason is required
    await page.getByLabel(/instead/).fill('Use the copy')
    await page.getByLabel(/instead/).press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, reason: 'Use the copy' })
    await expect(detail(page, id).getByTestId('settled')).toContainText('Use the copy')
  })

  test('types characters of a Mac keyboard in a denial, and sends a short reason only while it is empty', async ({
    page,
    hub,
    agent,
  }) => {
    const { id, answer } = await agent.ask(hub, {})
    const other = await agent.ask(hub, {})
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('d')
    const reason = page.getByLabel(/instead/)
    await expect(detail(page, id).getByTestId('reasons').getByRole('button')).toHaveCount(4)
    for (const typed of ['', 'see issue ']) {
      await reason.fill(typed)
      for (const [i, key] of [...'#@€[{¡™£'].entries())
        await reason.dispatchEvent('keydown', { key, code: `Digit${(i % 4) + 1}`, altKey: true })
      await expect(reason).toHaveValue(typed)
    }
    await reason.press('3')
    await expect(reason).toHaveValue('see issue 3')
    await reason.press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, reason: 'see issue 3' })

    await choose(page, other.id)
    await page.keyboard.press('d')
    await page.keyboard.press('2')
    // The first one is the reason that was just sent.
    expect(await other.answer).toMatchObject({ permission: false, reason: 'Not needed.' })
  })

  test('approves a call with edited arguments', async ({ page, hub, agent }) => {
    const rule = { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'rm:*' }] }
    const { id, answer } = await agent.ask(hub, {
      toolCall: {
        name: 'Bash',
        editable: true,
        arguments: { command: 'rm -rf /tmp/a', timeout: 5, quiet: false },
      },
      suggestions: [rule],
    })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('e')
    await page.getByLabel('command', { exact: true }).fill('rm -rf /tmp/b')
    await page.getByLabel('timeout', { exact: true }).fill('60')
    await expect(page.getByLabel('What changed').first().locator('ins')).toHaveText('b')
    await page.getByLabel(/Always allow Bash\(rm:\*\)/).check()
    await page.getByRole('button', { name: 'Approve with 2 edits' }).click()
    expect(await answer).toMatchObject({
      permission: true,
      modifiedArguments: { command: 'rm -rf /tmp/b', timeout: 60, quiet: false },
      remember: rule,
    })
  })

  test('sends an edited number as shown, and refuses one that may mean thousands', async ({
    page,
    hub,
    agent,
  }) => {
    const args = { amount: 500, list: [1.234, 2] }
    const { id } = await agent.ask(hub, { toolCall: { name: 'set_limit', editable: true, arguments: args } })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('e')
    const approve = detail(page, id).getByRole('button', { name: /^Approve/ })
    const refuse = async (field: string, text: string, why: string) => {
      await page.getByLabel(field, { exact: true }).fill(text)
      await expect(detail(page, id).getByRole('alert')).toContainText(why)
      await expect(approve).toBeDisabled()
    }
    for (const text of ['0x1F4', '1,5', '10.000.000', '1_000', '+5', '.5', 'NaN', '"5"', ''])
      await refuse('amount', text, 'must be a JSON number')
    await refuse(
      'amount',
      '10.000',
      'In JSON, 10.000 is 10: the dot is the decimal point. Write 10000 or 10.',
    )
    await refuse('amount', '-1.250', 'Write -1250 or -1.25.')
    await refuse('amount', '1.234', 'Write 1234 or 1.2340.')
    await page.getByLabel('amount', { exact: true }).fill('1e3')
    await refuse('list', '[1.234, 2.000]', 'In JSON, 2.000 is 2')
    await page.getByLabel('list', { exact: true }).fill('[1.234, 9007199254740993]')
    const changes = page.getByLabel('What changed')
    await expect(changes.first().locator('ins')).toHaveText('1e3')
    await expect(changes.last().locator('ins')).toHaveText('9007199254740993')
    const sent = page.waitForRequest('**/respond')
    await page.getByRole('button', { name: 'Approve with 2 edits' }).click()
    expect((await sent).postData()).toContain(
      '"modifiedArguments":{"amount":1e3,"list":[1.234,9007199254740993]}',
    )
  })

  test('answers several questions together', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, {
      type: 'question',
      question: 'Three things',
      questions: [
        {
          id: 'a',
          question: 'Tone?',
          options: [{ label: 'Friendly', description: 'short' }, { label: 'Formal' }],
        },
        {
          id: 'b',
          question: 'Parts?',
          multiple: true,
          allowOther: true,
          options: [{ label: 'API' }, { label: 'CLI' }],
        },
        { id: 'c', question: 'Title?' },
      ],
    })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('2')
    await page.getByLabel('API').check()
    await page.getByLabel('Another answer to: Parts?').fill('Docs')
    await page.getByLabel('Answer to: Title?').fill('Release 4')
    await page.getByLabel('Answer to: Title?').press('Control+Enter')
    expect((await answer).answers).toEqual({ a: 'Formal', b: ['API', 'Docs'], c: 'Release 4' })
  })

  for (const leave of ['Enter', 'ArrowDown']) {
    test(`keeps the digits in a question with several answers until ${leave}`, async ({
      page,
      hub,
      agent,
    }) => {
      const options = ['One', 'Two', 'Three'].map((label) => ({ label }))
      const { id, answer } = await agent.ask(hub, {
        type: 'question',
        question: 'Three things',
        questions: [
          { id: 'a', question: 'Parts?', multiple: true, options },
          { id: 'b', question: 'Order?', options },
          { id: 'c', question: 'Tests?', multiple: true, options },
        ],
      })
      await openAt(page, hub)
      await choose(page, id)
      const group = (name: string) => detail(page, id).getByRole('group', { name })
      await page.keyboard.type('132')
      for (const label of ['One', 'Two', 'Three'])
        await expect(group('Parts?').getByRole('checkbox', { name: label })).toBeChecked()
      await page.keyboard.press('2') // unchecks it
      await expect(group('Parts?').getByText('pick any, then Enter or ↓')).toBeVisible()
      await expect(group('Order?').getByText('2', { exact: true }).last()).toBeHidden()
      await page.keyboard.press(leave)
      await page.keyboard.type('2')
      await expect(group('Order?').getByRole('radio', { name: 'Two' })).toBeChecked()
      await page.keyboard.type('23')
      await page.keyboard.press(leave) // nothing is below: the digits stay
      await page.keyboard.type('3')
      await page.keyboard.press('Control+Enter')
      expect((await answer).answers).toEqual({ a: ['One', 'Three'], b: 'Two', c: ['Two'] })
    })
  }

  test('requires press-and-hold for a risky request', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, {
      risk: 'high',
      toolCall: { name: 'Bash', arguments: { command: 'x' } },
    })
    await page.clock.install()
    await openAt(page, hub)
    await choose(page, id)
    await pauseClock(page) // so that a tap is shorter than a hold on any machine
    await page.keyboard.press('a')
    await page.getByRole('button', { name: /Approve/ }).click()
    await expect(detail(page, id).getByRole('button', { name: /Approve/ })).toBeVisible()
    expect((await fetch(`${hub.url}/events/${id}`).then((r) => r.json())).humanInTheLoopStatus.status).toBe(
      'pending',
    )
    await page.clock.resume()
    await page.keyboard.down('a')
    expect((await answer).permission).toBe(true)
    await page.keyboard.up('a')
  })

  test('requires a long command to be scrolled to its end before approval', async ({ page, hub, agent }) => {
    const command = Array.from({ length: 120 }, (_, i) => `echo ${i} && \\`).join('\n') + '\ntrue'
    const { id, answer } = await agent.ask(hub, { toolCall: { name: 'Bash', arguments: { command } } })
    await openAt(page, hub)
    await choose(page, id)
    await expect(page.getByRole('button', { name: /Scroll to review/ })).toBeVisible()
    await page.keyboard.press('a') // scrolls instead of approving
    await expect(page.getByRole('button', { name: /^Approve/ })).toBeVisible()
    await expect(page.getByText('Raw JSON')).toBeInViewport()
    await page.keyboard.press('a')
    expect((await answer).permission).toBe(true)
  })

  test('shows the winning answer to the person who answered second', async ({
    page,
    context,
    hub,
    agent,
    watch,
  }) => {
    const { id, answer } = await agent.ask(hub, {})
    const other = await context.newPage()
    await watch(other)
    await openAt(page, hub)
    await openAt(other, hub)
    let release: () => void = () => undefined
    const held = new Promise<void>((ok) => (release = ok))
    await other.route('**/respond', async (route) => {
      await held
      await route.continue()
    })
    await choose(other, id)
    await other.keyboard.press('Shift+D')
    await expect(row(other, id)).toContainText('Denied') // shown before the hub confirms it
    await choose(page, id)
    await page.keyboard.press('a')
    expect((await answer).permission).toBe(true)
    release()
    await expect(detail(other, id).getByTestId('settled')).toContainText('Approved')
    await expect(detail(other, id).getByTestId('settled')).toContainText('faster')
    await expect(row(other, id)).toContainText('Approved')
  })

  test('shows an unreachable agent and delivers the answer when it returns', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Apply the plan?' })
    const { port } = agent
    await agent.stop()
    await openAt(page, hub, `/inbox/${id}`) // opens the group of requests whose agent is gone
    await choose(page, id)
    await page.keyboard.press('a')
    const group = page.getByRole('region', { name: 'Not delivered' })
    await expect(group.locator(`[data-id="${id}"]`)).toBeVisible()
    await expect(detail(page, id)).toContainText('The agent can’t be reached')
    await expect(detail(page, id)).toContainText(/next attempt in/)
    await expect(detail(page, id).getByRole('button', { name: 'Copy the answer' })).toBeVisible()
    // The agent returns on the same port; the path does not matter.
    const back = new WebSocketServer({ host: '127.0.0.1', port })
    back.on('connection', (socket) =>
      socket.on('message', (m) =>
        socket.send(JSON.stringify({ type: 'ack', answerId: JSON.parse(String(m)).answerId })),
      ),
    )
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText(delivered)
    await expect(group).toHaveCount(0)
    back.close()
  })

  test('counts a closed connection as receipt for a version 1 agent', async ({ page, hub }) => {
    const old = await Agent.start({ version: 1 })
    const { id, answer } = await old.ask(hub, {})
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('a')
    expect((await answer).permission).toBe(true)
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText('received by agent')
    await old.stop()
  })

  test('expires an unanswered request and shows the message to the agent', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, { timeout: 10 })
    await openAt(page, hub, `/inbox/${id}`)
    expect(await answer).toMatchObject({ permission: false, outcome: '__timeout__' })
    await expect(detail(page, id).getByTestId('settled')).toContainText('No answer')
    await expect(detail(page, id).getByTestId('settled')).toContainText('Message to the agent')
  })

  test('announces a short deadline once', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Deploy?', timeout: 36 })
    await openAt(page, hub, `/inbox/${id}`)
    await expect(page.getByTestId('polite')).toHaveText(/^\d+ seconds left to answer api: Deploy\?$/)
    const announcement = String(await page.getByTestId('polite').textContent())
    const secondsLeft = async () =>
      Number(/in 0:(\d\d)/.exec((await detail(page, id).textContent()) ?? '')?.[1] ?? NaN)
    await expect.poll(secondsLeft).toBeLessThan(parseInt(announcement) - 1)
    await expect(page.getByTestId('polite')).toHaveText(announcement)
  })

  test('restores an open form after a reload without moving the focus', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Deploy?' })
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('d')
    await expect(page.getByLabel(/instead/)).toBeFocused()
    await page.getByLabel(/instead/).fill('Use the copy')
    await page.reload()
    await waitUntilLive(page)
    await expect(page.getByLabel(/instead/)).toHaveValue('Use the copy')
    await expect(page.getByLabel(/instead/)).not.toBeFocused()
    await page.getByRole('button', { name: /Back/ }).click()
    await page.keyboard.press('d')
    await expect(page.getByLabel(/instead/)).toBeFocused()
  })

  test('cancels a request with a reason', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, {})
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('Shift+X')
    await page.getByLabel('Why').fill('Not today')
    await page.getByLabel('Why').press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, outcome: '__cancelled__' })
    await expect(page.getByTestId('polite')).toHaveText('api was notified that you canceled')
    await expect(detail(page, id).getByTestId('settled')).toContainText('Canceled')
    await expect(detail(page, id).getByTestId('settled')).toContainText('Not today')
  })

  test('keeps an unsent answer and every request across a restart of the hub', async ({
    page,
    hub,
    agent,
  }) => {
    const first = await agent.ask(hub, { type: 'question', question: 'First?' })
    await openAt(page, hub)
    await choose(page, first.id)
    await page.keyboard.press('r')
    await page.keyboard.type('my answer')
    await hub.stop()
    await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
    await page.getByLabel('Your answer').press('Control+Enter')
    await expect(detail(page, first.id).getByRole('alert')).toContainText('could not be reached')
    await expect(page.getByLabel('Your answer')).toHaveValue('my answer')
    await hub.restart()
    await waitUntilLive(page)
    const second = await agent.ask(hub, { question: 'Second?' })
    await expect(row(page, second.id)).toBeVisible()
    await expect(page.getByRole('region', { name: 'Needs you' }).locator('[data-id]')).toHaveCount(2)
    await page.getByLabel('Your answer').press('Control+Enter')
    expect((await first.answer).response).toBe('my answer')
  })

  test('filters the list and keeps the filter in the URL', async ({ page, hub, agent }) => {
    const ask = await agent.ask(hub, { question: 'A permission' })
    const choice = await agent.ask(hub, { type: 'choice', question: 'A choice', choices: ['x'] })
    await openAt(page, hub)
    await expect(page.getByLabel('Search the requests')).toHaveCount(0)
    await page.keyboard.press('/')
    await expect(page.getByLabel('Search the requests')).toBeFocused()
    await page.getByLabel('Show only').selectOption('choice')
    await expect(row(page, ask.id)).toHaveCount(0)
    await expect(row(page, choice.id)).toBeVisible()
    await expect(page).toHaveURL(/kind=choice/)
    await page.reload()
    await expect(row(page, choice.id)).toBeVisible()
    await expect(row(page, ask.id)).toHaveCount(0)
  })

  test('sorts by urgency, but not while the pointer is over the list', async ({ page, hub, agent }) => {
    const call = (name: string, args: object) => ({ toolCall: { name, arguments: args }, timeout: 3600 })
    const cwd = '/home/dev/shop-api'
    const edit = await agent.ask(hub, {
      ...call('Edit', { file_path: `${cwd}/internal/order/list.go`, old_string: 'a', new_string: 'b\nc' }),
      context: { cwd },
    })
    const wipe = await agent.ask(hub, call('Bash', { command: 'rm -rf ~' }))
    await openAt(page, hub)
    const rows = page.getByTestId('list').locator('[data-id]')
    const shown = () => rows.evaluateAll((all) => all.map((one) => Number(one.getAttribute('data-id'))))
    await expect(row(page, edit.id)).toContainText('Edit internal/order/list.go +2 −1')
    await expect.poll(shown).toEqual([wipe.id, edit.id])
    expect((await rows.first().boundingBox())?.y).toBeLessThanOrEqual(88)

    await row(page, edit.id).hover()
    const soon = await agent.ask(hub, { question: 'Now?', timeout: 50 })
    await expect(page.getByRole('button', { name: /^1 moved/ })).toBeVisible()
    expect(await shown()).toEqual([wipe.id, edit.id, soon.id])
    await page.keyboard.press('.')
    await expect.poll(shown).toEqual([soon.id, wipe.id, edit.id])

    for (let i = 0; i < 5; i++) await agent.ask(hub, { question: `More ${i}` })
    await page.mouse.move(900, 400) // the filters appear above no row under the pointer
    await expect(page.getByLabel('Search the requests')).toBeVisible()
    expect((await rows.first().boundingBox())?.y).toBeLessThanOrEqual(128)
  })

  test('follows the settings for single-key shortcuts and the theme', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    await openAt(page, hub)
    await page.getByRole('link', { name: 'Settings' }).click()
    const tabs = page.getByRole('navigation', { name: 'Settings' })
    await tabs.getByRole('link', { name: 'Preferences' }).click()
    await page.getByLabel(/Single-key shortcuts/).uncheck()
    await page.getByText('Dark', { exact: true }).click()
    await page.getByRole('link', { name: /^Inbox/ }).click()
    await choose(page, id)
    await page.keyboard.press('a')
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(page.getByRole('button', { name: /Approve/ })).toBeVisible()
    await page.reload()
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark')
  })
})
