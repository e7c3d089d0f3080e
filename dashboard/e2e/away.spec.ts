import type { Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { expect, openAt, test, waitUntilLive } from './fixtures.ts'

const HOURS = 3_600_000
const report = (page: Page) => page.getByTestId('away')
const line = (page: Page, kind: string) => report(page).locator(`[data-kind="${kind}"]`)

/** Lets the page believe that it was last used some hours ago, and opens it again. */
async function comeBack(page: Page, hours: number): Promise<void> {
  await expect.poll(() => page.evaluate(() => localStorage.getItem('hookback.seen'))).not.toBeNull()
  await page.goto('about:blank') // a page that closes stores nothing
  await page.goBack()
  await page.evaluate((ago) => {
    localStorage.setItem('hookback.seen', String(Date.now() - ago))
    localStorage.removeItem('hookback.away')
  }, hours * HOURS)
  await page.reload()
  await waitUntilLive(page)
}

test.describe('While you were away', () => {
  test('lists what happened, and each number is that of the rows behind its link', async ({
    page,
    hub,
    agent,
  }) => {
    await openAt(page, hub)
    await expect(report(page)).toHaveCount(0)
    for (const app of ['shop-api', 'docs'])
      await hub.event('Stop', { last_assistant_message: 'Done.' }, { source_app: app, session_id: app })
    for (let i = 0; i < 9; i++) {
      const call = { tool_name: 'Bash', tool_use_id: `l${i}` }
      const payload = { tool_name: 'Bash', tool_input: { command: 'make test' } }
      await hub.event('PreToolUse', payload, call)
      await hub.event(i < 6 ? 'PostToolUseFailure' : 'PostToolUse', payload, {
        ...call,
        ...(i < 6 && { error: 'exit 1' }),
      })
    }
    const risky = { tool_name: 'Bash', tool_input: { command: 'rm -rf /srv/data' } }
    await hub.event('PreToolUse', risky, { tool_name: 'Bash', tool_use_id: 'r1' })
    await hub.event('PostToolUse', risky, { tool_name: 'Bash', tool_use_id: 'r1' })
    await hub.event('PreToolUse', risky, {
      tool_name: 'Bash',
      tool_use_id: 'r2',
      hook: { verdict: 'deny', by: 'policy' },
    })
    await hub.event('Stop', { total_cost_usd: 1.5 }, { source_app: 'ci\u202e', session_id: 'ci' })
    await agent.ask(hub, { question: 'Deploy?', timeout: 3600 }, { session_id: 'asking' })
    const kinds = async () => {
      const response = await fetch(`${hub.url}/api/report`)
      return ((await response.json()) as { lines: { kind: string }[] }).lines.map((l) => l.kind)
    }
    await expect
      .poll(kinds, { timeout: 30_000 })
      .toEqual(['waiting', 'finished', 'refused', 'unasked', 'failed', 'loops', 'cost'])
    await comeBack(page, 3)
    await expect(report(page).getByRole('listitem')).toHaveText([
      /^1 request waits for an answer: api; the oldest for/,
      /^3 turns ended: ci, docs, shop-api$/,
      /^1 call was refused: api$/,
      /^1 risky call ran unasked: api$/,
      /^6 errors reported: api$/,
      /^1 loop of the same call: api$/,
      /^\$1\.50 spent: ci$/,
    ])
    expect(await accessibilityViolations(page)).toEqual([])
    for (const kind of ['waiting', 'finished', 'refused', 'unasked', 'failed', 'loops']) {
      const link = line(page, kind).getByRole('link')
      const count = parseInt(await link.innerText())
      await link.click()
      await expect(page).toHaveURL(/\/stream\?/)
      await expect(page.getByTestId('rows')).toHaveAttribute('aria-rowcount', String(count))
      await report(page).locator('summary').click()
    }
    await line(page, 'cost').getByRole('link').click()
    await expect(page.getByTestId('cost')).toContainText('$1.50 since the quarter-hour of')
    await report(page).locator('summary').click()

    await page.reload()
    await expect(report(page)).toBeVisible() // until it is closed
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await horizontalOverflow(page)).toBe(0)
    expect(await smallTargets(page)).toEqual([])
    await report(page).getByRole('button', { name: 'Close' }).click()
    await expect(report(page)).toHaveCount(0)
    await page.reload()
    await waitUntilLive(page)
    await expect(report(page)).toHaveCount(0)
  })

  test('is not there after an hour, nor if nothing happened; a message links to it', async ({
    page,
    hub,
  }) => {
    await openAt(page, hub)
    await comeBack(page, 3)
    await expect(page.locator('main')).toBeVisible()
    await hub.event('Stop', {}, { session_id: 'a' })
    await comeBack(page, 1)
    await expect.poll(() => page.evaluate(() => localStorage.getItem('hookback.away'))).toBeNull()
    await expect(report(page)).toHaveCount(0)
    await openAt(page, hub, `/?away=${Date.now() - HOURS}`)
    await expect(line(page, 'finished')).toHaveText('1 turn ended: api')
    await report(page).getByRole('button', { name: 'Close' }).click()
    await expect(page).not.toHaveURL(/away/)
  })
})
