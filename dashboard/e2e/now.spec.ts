import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import type { Agent } from './agent.ts'
import { expect, openAt, test, visit } from './fixtures.ts'
import type { HubProcess } from './hub.ts'

const lanes = (page: Page) => page.getByTestId('lanes').getByRole('listitem')
const lane = (page: Page, session: string) =>
  lanes(page).filter({ has: page.locator(`[data-session="${session}"]`) })
const figure = (page: Page, name: string | RegExp) =>
  page.getByTestId('figures').locator('div').filter({ hasText: name }).locator('dd')

const in_ = (session: string) => ({ session_id: session })

/** Posts a session in each state. Returns the id of the open request. */
async function fill(hub: HubProcess, agent: Agent) {
  await hub.event('UserPromptSubmit', { prompt: 'Tidy up' }, in_('idle'))
  await hub.event('SessionEnd', {}, in_('ended'))
  await hub.event('UserPromptSubmit', { prompt: 'Fix the <b>tests</b>\u202e' }, in_('failing'))
  for (const id of ['1', '2', '3'])
    await hub.event(
      'PostToolUseFailure',
      { tool_name: 'Bash', error: 'exit 1' },
      { ...in_('failing'), tool_name: 'Bash', tool_use_id: id, error: 'exit 1' },
    )
  await hub.event('UserPromptSubmit', { prompt: 'Build the release' }, in_('working'))
  await hub.event(
    'PreToolUse',
    { tool_name: 'Bash', tool_input: { command: 'make build' } },
    { ...in_('working'), tool_name: 'Bash', tool_use_id: 'b1' },
  )
  await hub.event('UserPromptSubmit', { prompt: 'Deploy to production' }, in_('asking'))
  const asked = await agent.ask(
    hub,
    { question: 'Deploy?', toolCall: { name: 'Bash', arguments: { command: 'make deploy' } } },
    in_('asking'),
  )
  return asked.id
}

test.describe('Now', () => {
  test('shows what agents do, in order of urgency', async ({ page, hub, agent }) => {
    const id = await fill(hub, agent)
    await openAt(page, hub)
    await page.keyboard.press('g')
    await page.keyboard.press('n')
    await expect(page).toHaveURL(/\/now$/)
    await expect(page.getByRole('heading', { name: 'Now' })).toBeVisible()
    await expect(lanes(page).locator('a.main')).toHaveCount(5)
    const sessions = await lanes(page)
      .locator('a.main')
      .evaluateAll((all) => all.map((a) => (a as HTMLElement).dataset.session))
    expect(sessions[0]).toBe('asking')
    expect(sessions[1]).toBe('failing')
    expect(sessions[4]).toBe('ended')
    await expect(lane(page, 'asking')).toContainText('Run make deploy')
    await expect(lane(page, 'working')).toContainText('Build the release')
    await expect(lane(page, 'working')).toContainText('Run make build')
    await expect(lane(page, 'failing')).toContainText('3 failures')
    await expect(figure(page, /needs? you/)).toHaveText('1')
    await expect(figure(page, 'working')).toHaveText('2')
    await lane(page, 'asking').getByRole('link', { name: 'Needs you' }).click()
    await expect(page).toHaveURL(new RegExp(`/inbox/${id}$`))
    await page.goBack()
    await lane(page, 'working').click({ position: { x: 500, y: 8 } })
    await expect(page).toHaveURL(/\/sessions\/api\/working$/)
  })

  test('follows the stream, and moves no lane under the pointer', async ({ page, hub, agent }) => {
    const id = await fill(hub, agent)
    await openAt(page, hub)
    await visit(page, '/now')
    await expect(lanes(page)).toHaveCount(5)
    await hub.post(`/events/${id}/respond`, { permission: true })
    await expect(lane(page, 'asking')).toHaveAttribute('data-state', 'working')
    await expect(figure(page, /needs? you/)).toHaveText('0')
    await lane(page, 'failing').hover()
    const before = await lane(page, 'working').boundingBox()
    await agent.ask(hub, { question: 'May I?' }, in_('idle'))
    await expect(lane(page, 'idle')).toHaveAttribute('data-state', 'needs-you')
    await hub.event('Stop', {}, in_('new'))
    await expect(lanes(page)).toHaveCount(6)
    expect(await lane(page, 'working').boundingBox()).toEqual(before)
    await page.getByRole('heading', { name: 'Now' }).hover()
    await expect(lanes(page).first().locator('[data-session=idle]')).toBeVisible()
  })

  test('has a ticker with the last five events', async ({ page, hub, agent }) => {
    await fill(hub, agent)
    await openAt(page, hub)
    await visit(page, '/now')
    const ticker = page.getByTestId('ticker')
    await expect(ticker.getByRole('link')).toHaveCount(0)
    await ticker.getByText('Latest events').click()
    await expect(ticker.getByRole('link')).toHaveCount(5)
    const stop = await hub.event('Stop', {}, in_('working'))
    await expect(ticker.getByRole('link').first()).toHaveAttribute('href', `/stream?event=${stop}`)
  })

  test('says what to do without agents', async ({ page, hub }) => {
    await openAt(page, hub)
    await visit(page, '/now')
    await expect(page.getByRole('heading', { name: 'No agent was active' })).toBeVisible()
    await expect(page.getByRole('link', { name: 'Connect agents' })).toBeVisible()
    expect(await accessibilityViolations(page)).toEqual([])
  })

  for (const width of [1360, 900, 390])
    test(`is accessible at ${width} px`, async ({ page, hub, agent }) => {
      await page.setViewportSize({ width, height: 844 })
      await fill(hub, agent)
      await openAt(page, hub)
      await visit(page, '/now')
      await expect(lanes(page)).toHaveCount(5)
      await page.getByTestId('ticker').getByText('Latest events').click()
      expect(await accessibilityViolations(page)).toEqual([])
      expect(await horizontalOverflow(page)).toBeLessThanOrEqual(0)
      expect(await smallTargets(page)).toEqual([])
      const strip = lane(page, 'failing').getByRole('img')
      await (width < 760 ? expect(strip).toBeHidden() : expect(strip).toBeVisible())
      if (process.env.SCREENSHOTS)
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/now-${width}-${colorScheme}.png` })
        }
    })
})
