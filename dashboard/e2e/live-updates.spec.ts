import { accessibilityViolations } from './accessibility.ts'
import { choose, detail, expect, openAt, row, test, visit, waitUntilLive } from './fixtures.ts'
import type { Page } from '@playwright/test'
import type { HubProcess } from './hub.ts'
import { claimHub } from './people.ts'

test.describe('Live updates', () => {
  test('show a thousand events a second completely and in order while keys still work', async ({
    page,
    hub,
  }) => {
    await openAt(page, hub, '/stream')
    /** Posts the events first to end-1, at most a thousand a second. */
    const send = async (first: number, end: number) => {
      const began = performance.now()
      for (let next = first; next < end; next += 50) {
        const from = next
        await hub.batch(50, (i) => ({ payload: { tool_input: { command: `n ${from + i}` } } }))
        const early = next + 50 - first - (performance.now() - began)
        if (early > 0) await new Promise((resume) => setTimeout(resume, early))
      }
    }
    const firstHalf = send(0, 1500)
    await expect(page.locator('[data-testid=rows] [role=row]').first()).toBeVisible()
    await page.keyboard.press('Space')
    await expect(page.getByTestId('pill')).toBeVisible()
    const secondHalf = firstHalf.then(() => send(1500, 3000)) // after the pause, on any machine
    const frozen = await page.locator('[data-testid=rows]').textContent()
    await expect(page.getByTestId('pill')).toContainText('new')
    expect(await page.locator('[data-testid=rows]').textContent()).toBe(frozen)
    await page.keyboard.press('End')
    await expect(page.getByTestId('pill')).toHaveCount(0)
    await secondHalf
    await expect(page.getByText('3,000 rows')).toBeVisible()
    await expect(page.getByText('n 2999', { exact: true })).toBeInViewport()
    const order = await page.locator('[data-testid=rows] [role=row]').evaluateAll((rows) =>
      rows
        .map((r) => [Number(r.getAttribute('aria-rowindex')), Number(r.id.replace('event-', ''))] as const)
        .toSorted(([a], [b]) => a - b)
        .map(([, id]) => id),
    )
    expect(order.length).toBeGreaterThan(20)
    expect(order).toEqual(order.map((_, i) => (order[0] ?? 0) + i))
  })

  /** Sets a performance mark when the text appears on the page. */
  const markAppearance = (page: Page, text: string) =>
    page.evaluate((wanted) => {
      new MutationObserver((_, me) => {
        if (!document.body.textContent.includes(wanted)) return
        performance.mark(wanted)
        me.disconnect()
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    }, text)

  const appearanceTime = async (page: Page, text: string) => {
    await expect.poll(() => page.evaluate((name) => performance.getEntriesByName(name).length, text)).toBe(1)
    return page.evaluate(
      (name) => performance.timeOrigin + (performance.getEntriesByName(name)[0]?.startTime ?? 0),
      text,
    )
  }

  /** Collects the WebSocket frames that a page receives. Call it before the page loads. */
  function framesOf(page: Page): string[] {
    const frames: string[] = []
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => void frames.push(String(payload))),
    )
    return frames
  }

  test('reach all open pages over the stream', async ({ page, context, hub, agent, watch }, info) => {
    const other = await context.newPage()
    await watch(other)
    const received = new Map([page, other].map((each) => [each, framesOf(each)]))
    await openAt(page, hub, '/stream')
    await openAt(other, hub, '/')
    const offsets: number[] = []
    for (let i = 0; i < 5; i++) {
      const text = `Question ${i} of many`
      await Promise.all([markAppearance(page, text), markAppearance(other, text)])
      await agent.ask(hub, { question: text })
      const [a, b] = await Promise.all([appearanceTime(page, text), appearanceTime(other, text)])
      offsets.push(Math.abs(a - b))
      // Both pages have it from the stream; a page that polls would have no such frame.
      for (const frames of received.values()) expect(frames.join('\n')).toContain(text)
    }
    offsets.sort((a, b) => a - b)
    info.annotations.push({
      type: 'measured',
      description: `apart: ${offsets.map(Math.round).join(', ')} ms`,
    })
  })

  test('catch up after a restart of the hub and report the restart', async ({ page, hub }) => {
    await hub.batch(5, () => ({}))
    await openAt(page, hub, '/stream')
    const line = page.getByTestId('connection')
    await hub.stop()
    await expect(line).toHaveAttribute('data-phase', 'waiting')
    const banner = page.getByTestId('connection-banner')
    await expect(banner).toContainText('Hub restarting')
    await expect(banner).toContainText(/in \d+ s|now/)
    const list = await page.getByTestId('rows').boundingBox()
    const above = await banner.boundingBox()
    expect(above!.y + above!.height).toBeLessThanOrEqual(list!.y)
    expect(await accessibilityViolations(page)).toEqual([])
    await hub.restart()
    for (let i = 0; i < 2; i++) await hub.batch(600, () => ({}))
    // There is no button if the page has reconnected by itself.
    const connectNow = page.getByRole('button', { name: 'Connect now' })
    await connectNow.evaluateAll((buttons) => buttons.forEach((button) => (button as HTMLElement).click()))
    await expect(line).toContainText('Live again · hub restarted')
    await expect(banner).toHaveCount(0)
    await expect(page.getByText('1,205 rows')).toBeVisible()
  })

  test('replace a connection that fell silent, and one when the person returns', async ({ page, hub }) => {
    let silent = false
    await page.routeWebSocket(/\/stream/, (socket) => {
      const server = socket.connectToServer()
      let dead = false // forever, as after a sleep
      server.onMessage((message) => {
        dead ||= silent
        if (!dead) socket.send(message)
      })
    })
    const asked = async (question: string) => {
      silent = true
      await hub.event('PermissionRequest', {}, { humanInTheLoop: { type: 'permission', question } })
      await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'live')
      await expect(page.getByText(question)).toHaveCount(0)
      silent = false
    }
    await page.clock.install()
    await openAt(page, hub)
    await asked('After silence?')
    await page.clock.runFor(41_000)
    await expect(page.getByText('After silence?').first()).toBeVisible()
    await waitUntilLive(page)
    await asked('After a walk?')
    await page.clock.runFor(21_000)
    await page.evaluate(() => dispatchEvent(new Event('focus')))
    await expect(page.getByText('After a walk?').first()).toBeVisible()
  })

  test('keep the time left through a step of the browser’s clock', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Quick?', timeout: 300 })
    await page.addInitScript(() => {
      const now = Date.now
      let step = 0
      Date.now = () => now() + step
      Object.assign(window, { stepClock: (ms: number) => (step = ms) })
    })
    await openAt(page, hub)
    await choose(page, id)
    const left = page.getByTestId('action-bar')
    const step = (ms: number) =>
      page.evaluate((by) => (window as unknown as { stepClock: (ms: number) => void }).stepClock(by), ms)
    await expect(left).toContainText('expires unapproved in')
    await expect(row(page, id).getByTitle(/^expires unapproved at /)).toContainText('expires unapproved in')
    await expect(left).toContainText(/[45]:\d\d/)
    await step(3_600_000)
    const shown = await left.textContent()
    await expect(left).not.toHaveText(shown!) // another second
    await expect(left).toContainText(/[1-5]:\d\d/)
    await step(-3_600_000)
    const later = await left.textContent()
    await expect(left).not.toHaveText(later!)
    await expect(left).toContainText(/^\D*[0-5]:\d\d\D/)
  })

  test('are not stopped by a translator, which leaves commands as they are', async ({ page, hub, agent }) => {
    const call = { toolCall: { name: 'Bash', arguments: { command: 'rm -rf build' } } }
    const { id } = await agent.ask(hub, { question: 'Quick?', timeout: 300, ...call })
    await openAt(page, hub)
    await choose(page, id)
    const left = page.getByTestId('action-bar')
    await expect(left).toContainText(/[45]:\d\d/)
    // As translators of browsers do: each text becomes an element of theirs.
    await page.evaluate(() => {
      const texts = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT)
      const all: Text[] = []
      while (texts.nextNode()) all.push(texts.currentNode as Text)
      for (const text of all) {
        if (!text.data.trim() || text.parentElement?.closest('[translate=no], script, style')) continue
        const font = document.createElement('font')
        font.textContent = `übersetzt ${text.data}`
        text.replaceWith(font)
      }
    })
    const shown = await left.textContent()
    await expect(left).not.toHaveText(shown!)
    await expect(detail(page, id).locator('.call-preview code')).toHaveText('rm -rf build')
    await agent.ask(hub, { question: 'Another?' })
    await expect(page.getByRole('navigation').locator('.count').first()).toContainText('2')
  })

  test('poll behind a proxy without WebSockets, and lose nothing', async ({ page, hub }) => {
    await page.routeWebSocket(/\/stream/, (socket) => socket.close())
    await openAt(page, hub)
    await expect(page.getByTestId('connection')).toContainText('Live (polling)')
    for (const question of ['First by poll?', 'Second by poll?']) {
      await hub.event('PermissionRequest', {}, { humanInTheLoop: { type: 'permission', question } })
      await expect(page.getByText(question).first()).toBeVisible()
    }
    await hub.post('/api/freezes', { scope: 'all', reason: 'Stop' })
    await expect(page.getByTestId('freeze-bar')).toBeVisible()
  })

  /** Replaces the page version in every hello message after the first. */
  async function changePageVersion(page: Page, hub: HubProcess) {
    let hellos = 0
    await page.routeWebSocket(hub.url.replace('http', 'ws') + '/stream**', (socket) => {
      const server = socket.connectToServer()
      server.onMessage((message) => {
        const text = String(message)
        if (text.includes('"type":"hello"') && ++hellos > 1)
          return socket.send(text.replace(/"page":"[^"]*"/, '"page":"another"'))
        socket.send(message)
      })
    })
  }

  test('end the errors of forms, messages and dialogs once the hub is back', async ({ page, hub }) => {
    await claimHub(page, hub)
    await hub.event('UserPromptSubmit', { prompt: 'Publish it' }, { agent: 'claude-code' })
    const call = { tool_name: 'Bash', tool_use_id: 't1', tool_input: { command: 'ls' } }
    const event = await hub.event('PreToolUse', call, { agent: 'claude-code' })
    /** Does it without the hub, which shows the error, and starts the hub, which ends it. */
    const failsUntilBack = async (act: () => Promise<void>) => {
      await hub.stop()
      await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'waiting')
      await act()
      const failure = page.getByRole('alert').filter({ hasText: /could not be reached/ })
      await expect(failure).toBeVisible()
      await hub.restart()
      await expect(failure).toHaveCount(0)
    }

    await visit(page, '/settings/preferences')
    const cooldown = page.getByLabel(/At most one message/)
    await cooldown.fill('15')
    await failsUntilBack(() => page.getByRole('button', { name: 'Save', exact: true }).click())
    await expect(cooldown).toHaveValue('15')

    await visit(page, '/sessions/api/s1')
    await page.keyboard.press('m')
    const message = page.getByTestId('session-messages').getByRole('textbox')
    await message.fill('Stop here')
    await failsUntilBack(() => page.keyboard.press('Enter'))
    await expect(message).toHaveValue('Stop here')

    await visit(page, '/policy?new=1') // loads the code of the form
    await page.keyboard.press('Escape')
    await failsUntilBack(() =>
      page.evaluate((path) => {
        history.pushState(null, '', path)
        dispatchEvent(new PopStateEvent('popstate'))
      }, `/policy?new=1&event=${event}`),
    )
    await expect(page.getByTestId('replay')).toBeVisible()
  })

  test('offer to load a newer version of the page', async ({ page, hub }) => {
    await changePageVersion(page, hub)
    await openAt(page, hub, '/')
    await expect(page.getByTestId('outdated')).toHaveCount(0)
    await hub.stop()
    await hub.restart()
    await expect(page.getByTestId('outdated')).toBeVisible()
    await page.getByTestId('outdated').getByRole('button', { name: 'Reload' }).click()
    await expect(page.getByTestId('connection')).toHaveAttribute('data-phase', 'live')
  })

  test('tell pages which request the other pages show', async ({ page, context, hub, agent, watch }) => {
    const { id } = await agent.ask(hub, { question: 'Who looks?' })
    await openAt(page, hub, `/inbox/${id}`)
    const other = await context.newPage()
    await watch(other)
    const frames = framesOf(other)
    await openAt(other, hub, `/inbox/${id}`)
    const lastPresence = () => frames.filter((frame) => frame.includes('"presence"')).at(-1) ?? ''
    await expect.poll(lastPresence).toContain(`"looking":[{"id":${id},"screens":2}]`)
    await page.close()
    await expect.poll(lastPresence).toContain(`"looking":[{"id":${id},"screens":1}]`)
  })
})
