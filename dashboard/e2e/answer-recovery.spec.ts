import { Agent } from './agent.ts'
import { choose, detail, expect, waitUntilLive, openAt, row, test } from './fixtures.ts'

test.describe('Answer recovery', () => {
  test('restores the request of an answer that never reached the hub', async ({ page, hub, agent }) => {
    const first = await agent.ask(hub, { question: 'First?' })
    const second = await agent.ask(hub, { question: 'Second?' })
    await openAt(page, hub)
    await page.route(`**/events/${first.id}/respond`, (route) => route.abort())
    await choose(page, first.id)
    await page.keyboard.press('a')
    await expect(detail(page, first.id).getByRole('alert')).toContainText('could not be reached')
    await expect(page).toHaveURL(new RegExp(`/inbox/${first.id}$`))
    await expect(row(page, first.id)).toContainText('not accepted')

    // It stays below the list while another request is on screen, whatever its outcome.
    await choose(page, second.id)
    const kept = page.getByRole('complementary', { name: `Not accepted: #${first.id}` })
    await expect(kept).toContainText('First?')
    await page.unroute(`**/events/${first.id}/respond`)
    await page.keyboard.press('a')
    expect((await second.answer).permission).toBe(true)
    await page.reload()
    await waitUntilLive(page)
    await choose(page, first.id)
    await page.keyboard.press('a')
    expect((await first.answer).permission).toBe(true)
  })

  test('reports a failed answer below the list while the person writes another', async ({
    page,
    hub,
    agent,
  }) => {
    const first = await agent.ask(hub, { question: 'First?' })
    const second = await agent.ask(hub, { type: 'question', question: 'Second?' })
    await openAt(page, hub)
    let fail: () => void = () => undefined
    const waiting = new Promise<void>((ok) => (fail = ok))
    await page.route(`**/events/${first.id}/respond`, async (route) => {
      await waiting
      await route.abort()
    })
    await choose(page, first.id)
    await page.keyboard.press('a')
    await choose(page, second.id)
    await page.keyboard.press('r')
    await page.keyboard.type('half a')
    fail()
    const kept = page.getByRole('complementary', { name: `Not accepted: #${first.id}` })
    await expect(kept).toContainText('Not accepted')
    await page.keyboard.type('n answer')
    await expect(page.getByLabel('Your answer')).toHaveValue('half an answer')
    await page.getByLabel('Your answer').press('Control+Enter')
    expect((await second.answer).response).toBe('half an answer')
    await expect(detail(page, first.id).getByRole('alert')).toContainText('could not be reached')
  })

  test('excludes a request whose agent is gone from the count and bulk approval', async ({ page, hub }) => {
    const [here, gone] = [await Agent.start(), await Agent.start()]
    const left = await gone.ask(hub, { question: 'Left alone?' })
    const ids = [(await here.ask(hub, {})).id, (await here.ask(hub, {})).id]
    await openAt(page, hub)
    await expect(page.getByTestId('count')).toHaveText(/^3/)
    await gone.stop()
    await expect(row(page, left.id)).toContainText('agent gone', { timeout: 120_000 })
    await expect(page.getByTestId('count')).toHaveText(/^2/)
    await expect(page).toHaveTitle('(2) Hookback')
    await page.getByRole('button', { name: /^Review and approve 2/ }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog.locator('.list > li')).toHaveCount(ids.length)
    await expect(dialog.locator(`.list [data-id="${left.id}"]`)).toHaveCount(0)
    await here.stop()
  })
})

test.describe('Setup', () => {
  test('completes the second step for any request except the test', async ({ page, hub, agent }) => {
    await hub.post('/api/test-requests', {})
    await openAt(page, hub, '/settings/agents')
    await expect(page.getByTestId('step-test')).toHaveAttribute('data-done')
    await expect(page.getByTestId('step-ask')).not.toHaveAttribute('data-done')
    await agent.ask(hub, {}, { source_app: 'deploy' })
    await expect(page.getByTestId('step-ask')).toHaveAttribute('data-done')
    await page.reload() // after a reload it comes from the hub's history
    await expect(page.getByTestId('step-ask')).toHaveAttribute('data-done')
  })
})
