import { accessibilityViolations } from './accessibility.ts'
import { choose, detail, expect, openAt, row, test, visit } from './fixtures.ts'
import type { Agent } from './agent.ts'
import type { HubProcess } from './hub.ts'
import type { Page } from '@playwright/test'

const tab = (page: Page, name: string) =>
  page.getByRole('group', { name: 'Which requests' }).getByRole('button', { name: new RegExp(`^${name}`) })
const done = (page: Page) => page.getByRole('combobox', { name: 'Which requests' })

/** Creates one request of each outcome, from two agents. */
async function settle(hub: HubProcess, agent: Agent) {
  const ask = (question: string, source_app: string) => agent.ask(hub, { question }, { source_app })
  const yes = await ask('Ship it?', 'api')
  const no = await ask('Drop it?', 'web')
  const off = await ask('Twice?', 'web')
  const late = await agent.ask(hub, { question: 'Now?', timeout: 1 }, { source_app: 'gone-by' })
  const open = await ask('Still there?', 'api')
  await hub.post(`/events/${yes.id}/respond`, { permission: true })
  await hub.post(`/events/${no.id}/respond`, { permission: false, reason: 'Keep the table' })
  await hub.post(`/events/${off.id}/cancel`, { reason: 'Asked twice' })
  await late.answer
  return { yes: yes.id, no: no.id, off: off.id, late: late.id, open: open.id }
}

test.describe('History', () => {
  test('shows open and done requests, and those by outcome with counts and reasons', async ({
    page,
    hub,
    agent,
  }) => {
    const ids = await settle(hub, agent)
    await openAt(page, hub)
    await expect(tab(page, 'Open')).toContainText('1')
    await tab(page, 'Done').click()
    for (const id of [ids.yes, ids.off, ids.late]) await expect(row(page, id)).toBeVisible()
    await expect(row(page, ids.open)).toHaveCount(0)
    await expect(done(page)).toContainText('Decided (2)')
    await done(page).selectOption('decided')
    await expect(row(page, ids.yes)).toContainText('Approved')
    await expect(row(page, ids.no)).toContainText('Keep the table')
    await expect(row(page, ids.off)).toHaveCount(0)
    await done(page).selectOption('cancelled')
    await expect(row(page, ids.off)).toContainText('Asked twice')
    await choose(page, ids.off)
    await expect(detail(page, ids.off).getByTestId('settled')).toContainText('Asked twice')
    await done(page).selectOption('expired')
    await expect(row(page, ids.late)).toContainText('No answer')
    await expect(page).toHaveURL(/tab=expired/)
    await page.reload()
    await expect(row(page, ids.late)).toBeVisible()
    expect(await accessibilityViolations(page)).toEqual([])
  })

  test('loads older requests page by page', async ({ page, hub }) => {
    for (let i = 0; i < 70; i++) {
      const id = await hub.event(
        'PermissionRequest',
        {},
        { humanInTheLoop: { type: 'permission', question: `No ${i}` } },
      )
      await hub.post(`/events/${id}/respond`, { permission: true })
    }
    await openAt(page, hub, '/?tab=decided')
    const rows = page.getByTestId('list').locator('[data-id]')
    await expect(rows).toHaveCount(50)
    await expect(rows.first()).toContainText('No 69')
    await page.getByRole('button', { name: 'Show older' }).click()
    await expect(rows).toHaveCount(70)
    await expect(rows.last()).toContainText('No 0')
    await expect(page.getByText('End of the list')).toBeVisible()
  })

  test('filters by several agents, including past ones, and keeps them in the URL', async ({
    page,
    hub,
    agent,
  }) => {
    const ids = await settle(hub, agent)
    await openAt(page, hub, '/?tab=decided')
    await page.getByRole('button', { name: /^Agents:/ }).click()
    await page.getByLabel('gone-by').check()
    await page.getByLabel('web').check()
    await expect(page).toHaveURL(/agent=gone-by&agent=web/)
    await expect(row(page, ids.no)).toBeVisible()
    await expect(row(page, ids.yes)).toHaveCount(0)
    await done(page).selectOption('expired')
    await expect(row(page, ids.late)).toBeVisible()
    const shared = page.url()
    await page.goto('about:blank')
    await page.goto(shared)
    await expect(row(page, ids.late)).toBeVisible()
    await expect(page.getByRole('button', { name: 'Agents: 2 agents' })).toBeVisible()
  })

  test('shares its date range with the overview and never hides a pending request', async ({
    page,
    hub,
    agent,
  }) => {
    const ids = await settle(hub, agent)
    await openAt(page, hub)
    await page.keyboard.press('/') // with few requests, the filters are hidden
    await page.getByRole('button', { name: /^Time:/ }).click()
    await page.getByRole('button', { name: '7 days' }).click()
    await expect(page).toHaveURL(/days=7/)
    await expect(row(page, ids.open)).toBeVisible()
    await visit(page, '/overview')
    await expect(page).toHaveURL(/days=7/)
    const chart = page.getByRole('region', { name: 'Outcomes' })
    await expect(chart).toContainText('4 in 7 days')
    await chart.getByRole('button', { name: 'Outcomes as a table' }).click()
    await expect(chart.locator('tbody tr')).toHaveCount(7)
    await expect(chart.locator('tbody tr').last()).toContainText(/1.*0.*1.*1.*0.*0.*1.*0/s)
    await expect(page.getByTestId('count')).toHaveText('1 need you')
    await visit(page, '/?days=7')
    await expect(row(page, ids.open)).toBeVisible()
    await expect(page).toHaveURL(/days=7/)

    await page.getByRole('button', { name: /^Time:/ }).click()
    await page.getByLabel('First day').fill('2026-01-01')
    await page.getByLabel('Last day').fill('2026-01-31')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await expect(row(page, ids.open)).toHaveCount(0)
    await page.getByRole('button', { name: 'Show any time' }).click()
    await expect(row(page, ids.open)).toBeVisible()
  })
})
