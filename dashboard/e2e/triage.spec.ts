import type { Locator } from '@playwright/test'
import { accessibilityViolations } from './accessibility.ts'
import { choose, detail, expect, openAt, openMore, row, test, visit, waitUntilLive } from './fixtures.ts'
import { claimHub, invitePerson } from './people.ts'

const bash = (command: string) => ({ toolCall: { name: 'Bash', arguments: { command } } })

test.describe('Triage', () => {
  test('moves the focus with the selection, and from the row to the answers', async ({
    page,
    hub,
    agent,
  }) => {
    const ids: number[] = []
    for (const command of ['ls', 'make', 'date'])
      ids.push((await agent.ask(hub, { question: 'Go on?', ...bash(command) })).id)
    await openAt(page, hub)
    await expect(detail(page, ids[0]!)).toBeVisible()
    await page.keyboard.press('j')
    await expect(row(page, ids[1]!)).toBeFocused()
    await agent.ask(hub, { question: 'Soon', timeout: 50 }) // more urgent, so it is sorted first
    await expect(page.getByTestId('list').locator('[data-id]')).toHaveCount(4)
    await expect(row(page, ids[1]!)).toBeFocused()
    await expect(detail(page, ids[1]!)).toBeVisible()
    await page.keyboard.press('Tab')
    await expect(detail(page, ids[1]!).getByRole('button', { name: /^Approve/ })).toBeFocused()
    await page.keyboard.press('j')
    await expect(row(page, ids[2]!)).toBeFocused()
  })

  test('offers the first steps, and shows the lanes of working agents once all is answered', async ({
    page,
    hub,
    agent,
  }) => {
    await openAt(page, hub)
    const main = page.locator('main')
    for (const name of ['Send a test request', 'Connect agents', 'Pair a phone'])
      await expect(main.getByRole('link', { name })).toBeVisible()
    await expect(main.getByText('all caught up').filter({ visible: true })).toHaveCount(0)
    expect(await accessibilityViolations(page)).toEqual([])
    const { id } = await agent.ask(hub, { question: 'May I?' })
    await hub.event('PreToolUse', { tool_name: 'Bash', tool_input: { command: 'make' } })
    await expect(detail(page, id)).toBeVisible() // selects the first request that comes
    await hub.post(`/events/${id}/respond`, { permission: true })
    await expect(detail(page, id).getByTestId('settled')).toBeVisible()
    await visit(page, '/')
    await expect(main.getByRole('heading', { name: 'You’re all caught up' })).toBeVisible()
    await expect(page.getByTestId('lanes').locator('[data-session="s1"]')).toBeVisible()
    expect(await accessibilityViolations(page)).toEqual([])
    await page.keyboard.press('j') // still moves in the list
    await expect(detail(page, id)).toBeVisible()
  })

  test('scrolls the row of a linked request into view', async ({ page, hub, agent }) => {
    const ids: number[] = []
    for (let i = 0; i < 40; i++) ids.push((await agent.ask(hub, { question: `Q${i}` })).id)
    await openAt(page, hub, `/inbox/${ids[35]}`)
    await expect(row(page, ids[35]!)).toBeInViewport()
    await page.reload()
    await waitUntilLive(page)
    await expect(row(page, ids[35]!)).toBeInViewport()
    await expect(row(page, ids[0]!)).not.toBeInViewport()
  })

  test('offers no standing rules for a plan, and is neutral until its end was on screen', async ({
    page,
    hub,
    agent,
  }) => {
    const plan = '# Limits\n\n' + Array.from({ length: 120 }, (_, i) => `Step ${i}.`).join('\n\n')
    const { id, answer } = await agent.ask(hub, {
      question: 'Ready to code?',
      toolCall: { name: 'ExitPlanMode', arguments: { plan } },
      suggestions: [
        { type: 'setMode', mode: 'acceptEdits', destination: 'session' },
        { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'ls:*' }] },
      ],
    })
    await openAt(page, hub)
    await choose(page, id)
    const card = detail(page, id)
    await expect(card.getByLabel('Accept all file edits')).toBeVisible()
    await expect(card).not.toContainText('Always allow')
    const primary = card.getByRole('button', { name: /Scroll to review|Approve plan/ })
    const background = () => primary.evaluate((b) => getComputedStyle(b).backgroundColor)
    await expect(primary).toHaveText(/Scroll to review/)
    const neutral = await background()
    await expect(card.getByRole('button', { name: /Ask for changes…/ })).toBeVisible()
    await primary.click()
    await expect(primary).toHaveText(/Approve plan/)
    expect(await background()).not.toBe(neutral)
    await primary.click()
    expect((await answer).permission).toBe(true)
  })

  test('writes prose in the direction of its script, and code from left to right', async ({
    page,
    hub,
    agent,
  }) => {
    const { id } = await agent.ask(hub, {
      question: 'هل أشغّل npm test الآن؟\n\nthen deploy',
      ...bash('echo مرحبا && ls'),
      context: { userPrompt: 'احذف المجلد build من فضلك', lastMessage: 'I delete build.\nسأحذف build الآن.' },
    })
    const text = await agent.ask(hub, { type: 'question', question: 'ما الاسم؟' })
    await openAt(page, hub)
    await choose(page, id)
    const card = detail(page, id)
    const style = (selector: string) =>
      card
        .locator(selector)
        .first()
        .evaluate((e) => {
          const { direction, unicodeBidi, textAlign } = getComputedStyle(e)
          return { direction, unicodeBidi, textAlign }
        })
    const plaintext = { unicodeBidi: 'plaintext', textAlign: 'start' }
    expect(await style('h1')).toEqual({ direction: 'ltr', ...plaintext })
    expect(await style('[data-testid=agent-says] p')).toEqual({ direction: 'rtl', ...plaintext })
    expect(await style('[data-testid=your-prompt] .prose')).toEqual({ direction: 'rtl', ...plaintext })
    expect(await style('[data-testid=agent-says] .prose')).toEqual({ direction: 'ltr', ...plaintext })
    expect(await style('.call-preview code')).toMatchObject({ direction: 'ltr', unicodeBidi: 'isolate' })
    await choose(page, text.id)
    await detail(page, text.id).getByLabel('Your answer').fill('فريق API')
    const box = detail(page, text.id).getByLabel('Your answer')
    expect(await box.evaluate((e) => getComputedStyle(e).direction)).toBe('rtl')
  })

  test('fetches again after a lost connection, and keeps no error of it', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'May I?' })
    await hub.post(`/events/${id}/respond`, { permission: false })
    await openAt(page, hub)
    const main = page.locator('main')
    const screens = [
      ['/?tab=decided', 'May I?'],
      ['/overview', 'Time to answer'],
      ['/sessions', 's1'],
      ['/sessions/api/s1', 'May I?'],
      ['/policy', 'No rules yet'],
      ['/team/audit', 'hub'],
      ['/settings/hub', 'Links work on one computer only.'],
    ] as const
    for (const [path] of screens) await visit(page, path) // loads the code of each screen
    for (const [path, shows] of screens) {
      await visit(page, '/settings/preferences')
      await hub.stop()
      await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
      await page.evaluate((to) => {
        history.pushState(null, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
      }, path)
      const failure = main.getByText(/could not be reached|can’t be reached|unreachable/i).first()
      await expect.soft(failure, path).toBeVisible()
      await hub.restart()
      await waitUntilLive(page)
      await expect.soft(failure, path).toBeHidden()
      await expect.soft(main.getByText(shows).filter({ visible: true }).first(), path).toBeVisible()
    }
  })

  test('offers actions next to the row under the pointer or with the focus', async ({ page, hub, agent }) => {
    const plain = await agent.ask(hub, { question: 'List', ...bash('ls'), timeout: 3600 })
    const risky = await agent.ask(hub, { question: 'Wipe', ...bash('rm -rf ~'), timeout: 3600 })
    await openAt(page, hub, `/inbox/${risky.id}`)
    const actions = page.getByTestId('row-actions')
    await expect(detail(page, risky.id)).toBeVisible()
    await expect(actions).toHaveCount(0)
    await row(page, risky.id).hover()
    await expect(actions.getByRole('button', { name: 'Snooze 5 min' })).toBeVisible()
    await expect(actions.getByRole('button', { name: 'Review and approve' })).toHaveCount(0)
    await row(page, plain.id).hover()
    await expect(actions).toHaveCount(1)
    await actions.getByRole('button', { name: 'Review and approve' }).click()
    const dialog = page.getByRole('dialog', { name: 'Approve this request?' })
    await expect(dialog.locator(`[data-id="${plain.id}"]`)).toBeVisible()
    await page.keyboard.press('Escape')
    await row(page, plain.id).hover()
    await actions.getByRole('button', { name: 'Snooze 5 min' }).click()
    await expect(
      page.getByRole('region', { name: 'Snoozed' }).locator(`[data-id="${plain.id}"]`),
    ).toBeVisible()
    await expect(detail(page, risky.id)).toBeVisible()
    await page.mouse.move(900, 400)
    await expect(actions).toHaveCount(0)
    await page.keyboard.press('k')
    await page.keyboard.press('j')
    await expect(row(page, plain.id)).toBeFocused()
    await expect(actions.getByRole('link', { name: 'Show the session' })).toBeVisible()
    await actions.getByRole('link', { name: 'Show the session' }).click()
    await expect(page).toHaveURL(/\/sessions\/api\/s1/)
  })

  test('keeps every row in its place while requests arrive under the pointer', async ({
    page,
    hub,
    agent,
  }) => {
    const ids: number[] = []
    for (let i = 0; i < 4; i++) ids.push((await agent.ask(hub, { question: `Q${i}`, timeout: 3600 })).id)
    await openAt(page, hub)
    await row(page, ids[1]!).hover()
    const places = () => Promise.all(ids.map(async (id) => (await row(page, id).boundingBox())?.y))
    const before = await places()
    for (let i = 0; i < 5; i++) {
      await hub.batch(10, (n) => ({
        hook_event_type: 'PermissionRequest',
        session_id: `s${i}-${n}`,
        humanInTheLoop: { type: 'permission', question: `Urgent ${i}.${n}`, timeout: 50 },
      }))
      await expect(page.getByTestId('count')).toContainText(String(4 + 10 * (i + 1)))
      expect(await places()).toEqual(before)
    }
    await expect(page.getByRole('button', { name: /^\d+ moved/ })).toBeVisible()
    await page.mouse.move(900, 400)
    await expect(page.getByLabel('Search the requests')).toBeVisible()
  })

  test('has a border between the panes that keys and the pointer move', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, {})
    await openAt(page, hub)
    await expect(detail(page, id)).toBeVisible()
    const border = page.getByRole('separator', { name: 'Width of the list' })
    const width = async () => Math.round((await page.getByTestId('list').boundingBox())?.width ?? 0)
    await border.focus()
    await page.keyboard.press('End')
    await expect(border).toHaveAttribute('aria-valuenow', '560')
    await expect.poll(width).toBe(559)
    await page.keyboard.press('Home')
    await expect.poll(width).toBe(299)
    await page.keyboard.press('ArrowRight')
    await expect(border).toHaveAttribute('aria-valuenow', '316')
    await page.reload()
    await expect.poll(width).toBe(315)
    const box = await border.boundingBox()
    await page.mouse.move(box!.x + 4, 400)
    await page.mouse.down()
    await page.mouse.move(box!.x + 104, 400)
    await page.mouse.up()
    await expect.poll(width).toBeGreaterThan(400)
    await expect(detail(page, id)).toBeVisible()
  })

  test('groups the open requests by session or agent, and keeps the choice in the URL', async ({
    page,
    hub,
    agent,
  }) => {
    const ask = async (source_app: string, session_id: string) =>
      (await agent.ask(hub, { question: `${source_app} ${session_id}` }, { source_app, session_id })).id
    const [a, b, c, d] = [
      await ask('web', 'one-session'),
      await ask('infra', 'two-session'),
      await ask('web', 'three-session'),
      await ask('web', 'one-session'),
    ]
    await openAt(page, hub)
    const list = page.getByTestId('list')
    const order = () =>
      list.locator('[data-id]').evaluateAll((all) => all.map((one) => Number(one.getAttribute('data-id'))))
    await expect.poll(order).toEqual([a, b, c, d])
    await page.getByRole('button', { name: /^Group by/ }).click()
    await page.getByRole('radio', { name: 'Agent' }).click()
    await expect(page).toHaveURL(/group=agent/)
    await expect(list.getByRole('region', { name: 'web' }).locator('[data-id]')).toHaveCount(3)
    await expect.poll(order).toEqual([a, c, d, b])
    await choose(page, d)
    await page.keyboard.press('j')
    await expect(detail(page, b)).toBeVisible() // the order of the keys is the one on screen
    await page.goto(`${hub.url}/?group=session`)
    await expect.poll(order).toEqual([a, d, b, c])
    await expect(list.getByRole('region', { name: /^web · one/ }).locator('[data-id]')).toHaveCount(2)
  })

  /** A request of each kind, with the content of its card. */
  const kinds: [name: string, question: Record<string, unknown>][] = [
    ['permission', { ...bash('ls'), timeout: 600 }],
    ['high risk', { ...bash('rm -rf ~'), editable: true }],
    ['diff', { toolCall: { name: 'Edit', arguments: { file_path: 'a', old_string: 'a', new_string: 'b' } } }],
    ['plan', { toolCall: { name: 'ExitPlanMode', arguments: { plan: '# Plan' } } }],
    ['choice', { type: 'choice', question: 'Which?', choices: ['One', 'Two', 'Three'], allowOther: true }],
    ['question', { type: 'question', question: 'Name?', timeout: 3600 }],
    [
      'form',
      {
        type: 'question',
        question: 'Two things',
        questions: [
          { id: 'a', question: 'Tone?', options: [{ label: 'Formal' }, { label: 'Short' }] },
          { id: 'b', question: 'Name?' },
        ],
      },
    ],
    [
      'vote',
      {
        ...bash('make deploy'),
        requiredApprovals: 2,
        recipients: { mode: 'selected_members', members: ['mara', 'noor'] },
      },
    ],
    ['appeal', { ...bash('git push'), appeal: { by: 'auto mode', reason: 'Not asked for.' } }],
    [
      'stoppable',
      { toolCall: { name: 'Bash', editable: true, arguments: { command: 'make' } }, interruptible: true },
    ],
  ]

  for (const [width, height, tall] of [
    [1360, 860, 56],
    [1024, 700, 56],
    [390, 780, 96],
  ] as const) {
    test(`has the title at one height and the answers right below the content at ${width} px`, async ({
      page,
      hub,
      agent,
    }) => {
      await page.setViewportSize({ width, height })
      await claimHub(page, hub)
      await invitePerson(page, 'noor')
      const outside = hub.fromOtherProcess()
      const ids: number[] = []
      for (const [, question] of kinds) ids.push((await agent.ask(outside, question)).id)
      await openAt(page, hub)
      const titles = new Set<number>()
      for (const [i, id] of ids.entries()) {
        await visit(page, `/inbox/${id}`)
        const card = detail(page, id)
        await expect(card.getByTestId('more')).toBeVisible()
        await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)))
        const at = await card.evaluate((e) => {
          const box = (selector: string) => e.querySelector(selector)?.getBoundingClientRect()
          const [bar, end, pane, footer] = [box('.buttons'), box('.bar-end'), box('.pane'), box('footer')]
          const [title, call] = [box('h1'), box('.call-preview')]
          const top = Math.min(bar?.top ?? Infinity, end?.top ?? Infinity)
          const buttons = [...e.querySelectorAll('.buttons > .btn')].map((b) => b.getBoundingClientRect())
          const last = e.querySelector('.content')?.lastElementChild?.getBoundingClientRect().bottom ?? 0
          return {
            title: title?.top ?? 0,
            call: call && call.top - (title?.bottom ?? 0),
            height: Math.max(bar?.bottom ?? 0, end?.bottom ?? 0) - top,
            lines: new Set(buttons.map((b) => Math.round(b.top))).size,
            cut: [...e.querySelectorAll('.buttons > .btn')].filter((b) => b.scrollWidth > b.clientWidth + 1)
              .length,
            overlap: bar?.top === end?.top && buttons.some((b) => b.right > (end?.left ?? 0)),
            gap: (footer?.top ?? 0) - Math.min(last, pane?.bottom ?? 0),
            bottom: footer?.bottom ?? 0,
          }
        })
        const name = kinds[i]?.[0]
        if (process.env.SHOTS)
          await page.screenshot({ path: `${process.env.SHOTS}/bar-${width}-${name}.png` })
        titles.add(at.title)
        if (at.call !== undefined)
          expect.soft(at.call, `${name}: call below the title`).toBeLessThanOrEqual(16)
        expect.soft(at.height, `${name}: height`).toBe(tall)
        expect.soft(at.lines, `${name}: lines of buttons`).toBeLessThanOrEqual(1)
        expect.soft(at.cut, `${name}: cut labels`).toBe(0)
        expect.soft(at.overlap, `${name}: overlap`).toBe(false)
        expect.soft(at.gap, `${name}: gap`).toBeLessThanOrEqual(16)
        expect.soft(at.bottom, `${name}: in view`).toBeLessThanOrEqual(height)
      }
      expect([...titles]).toHaveLength(1)
    })
  }

  test('keeps the answers of a long request in view, whole, also alone and with a freeze', async ({
    page,
    hub,
    agent,
  }) => {
    const { id } = await agent.ask(hub, bash('make\n'.repeat(200)))
    const short = await agent.ask(hub, { ...bash('rm -rf ~'), timeout: 600 })
    await hub.post('/api/freezes', { scope: 'session', source_app: 'other', session_id: 's' })
    await page.setViewportSize({ width: 1360, height: 900 })
    for (const path of [`/inbox/${id}`, `/r/${id}`, `/r/${short.id}`]) {
      await openAt(page, hub, path)
      await expect(page.getByTestId('freeze-bar')).toBeVisible()
      const buttons = page.locator('.detail footer .btn:visible')
      await expect(
        buttons.filter({ hasText: path === `/r/${short.id}` ? 'Ask back…' : 'Deny…' }),
      ).toBeVisible()
      for (const button of await buttons.all()) {
        await expect(button).toBeInViewport({ ratio: 1 })
        expect(
          await button.evaluate((b) => {
            const [line, box] = [b.parentElement!.getBoundingClientRect(), b.getBoundingClientRect()]
            return box.top >= line.top && box.bottom <= line.bottom
          }),
          `${path}: ${await button.innerText()}`,
        ).toBe(true)
      }
    }
  })

  test('keeps the action bar as the last line while a form is open', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { ...bash('make'), timeout: 3600 })
    await openAt(page, hub)
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 780 })
      await visit(page, '/')
      await choose(page, id)
      const bar = detail(page, id).getByTestId('action-bar')
      await expect(detail(page, id).getByTestId('more')).toBeVisible()
      const bottom = async (of: Locator) => {
        const box = await of.boundingBox()
        return Math.round(box!.y + box!.height)
      }
      for (const key of ['d', 't', 'q', 'Shift+X']) {
        await page.keyboard.press(key)
        await expect(detail(page, id).getByRole('button', { name: /^Back/ })).toBeVisible()
        expect(await bottom(bar), key).toBe(await bottom(detail(page, id).locator('footer')))
        expect(await bottom(bar), key).toBeLessThanOrEqual(780)
        const back = await detail(page, id).getByRole('button', { name: /^Back/ }).boundingBox()
        const end = await bar.boundingBox()
        expect(back!.x + back!.width <= end!.x || back!.y + back!.height <= end!.y + 1, key).toBe(true)
        await page.keyboard.press('Escape')
        await page.keyboard.press('Escape')
      }
    }
  })

  test('has every further action of a card in its menu', async ({ page, hub, agent }) => {
    const call = { name: 'Bash', editable: true, arguments: { command: 'make' } }
    const { id } = await agent.ask(hub, { toolCall: call, interruptible: true, timeout: 3600 })
    await openAt(page, hub)
    await choose(page, id)
    const menu = await openMore(page, id)
    const labels = (await menu.getByRole('button').allInnerTexts()).map((text) => text.split('\n')[0])
    expect(labels).toEqual([
      'Edit',
      'Ask back…',
      'Deny and stop',
      'Extend',
      'Snooze 5 min',
      'Copy link',
      'Always allow…',
      'Always deny…',
      'Allow harmless calls for 15 min',
      'Cancel request',
    ])
    await page.keyboard.press('Escape')
    await expect(menu).toBeHidden()
    await expect(detail(page, id).getByTestId('more')).toBeFocused()
    await (await openMore(page, id)).getByRole('button', { name: /Edit/ }).click()
    await expect(page.getByLabel('command', { exact: true })).toBeVisible()
  })

  test('shows every word of the bulk dialog, and starts at its first checkbox', async ({
    page,
    hub,
    agent,
  }) => {
    const long = 'x'.repeat(400)
    const first = await agent.ask(hub, { question: long, ...bash(`echo ${long}`) })
    await agent.ask(hub, { question: `Second ${long}`, ...bash('ls') })
    await agent.ask(hub, { question: `Risky ${long}`, ...bash('rm -rf ~') })
    for (const width of [1360, 390]) {
      await page.setViewportSize({ width, height: 800 })
      await openAt(page, hub, `/inbox/${first.id}`)
      await expect(detail(page, first.id)).toBeVisible()
      await page.keyboard.press('Shift+A')
      const dialog = page.getByRole('dialog')
      await expect(dialog.getByRole('checkbox').first()).toBeFocused()
      const cut = await dialog.evaluate((d) => {
        const { right } = d.getBoundingClientRect()
        return [...d.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > right + 1).length
      })
      expect(cut, `${width} px`).toBe(0)
      await page.keyboard.press('Escape')
    }
  })
})
