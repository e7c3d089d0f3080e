import { accessibilityViolations } from './accessibility.ts'
import { choose, detail, expect, openAt, row, test as base, visit, openMore } from './fixtures.ts'
import { callApi, claimHub } from './people.ts'
import type { Agent } from './agent.ts'
import type { HubProcess } from './hub.ts'

/** The page of the owner: only signed-in people create rules. */
const test = base.extend({
  page: async ({ page, hub }, use) => {
    await claimHub(page, hub)
    await use(page)
  },
})

const bash = (command: string) => ({
  question: 'Run a shell command',
  toolCall: { name: 'Bash', arguments: { command } },
  context: { cwd: '/home/dev/app' },
})
const ask = (agent: Agent, hub: HubProcess, command: string, more = {}) =>
  agent.ask(hub.fromOtherProcess(), { ...bash(command), ...more })

test.describe('Rules', () => {
  test('are created from a permission after a preview and answer the next call', async ({
    page,
    hub,
    agent,
  }) => {
    const before = await ask(agent, hub, 'npm test -- --run ./a')
    await callApi(page, 'POST', `/events/${before.id}/respond`, { permission: true })
    const other = await ask(agent, hub, 'npm test -- --run ./b')
    await callApi(page, 'POST', `/events/${other.id}/respond`, { permission: false, reason: 'not now' })
    const { id } = await ask(agent, hub, 'npm test -- --run ./c')
    await openAt(page, hub)
    await choose(page, id)
    await (await openMore(page, id)).getByRole('button', { name: 'Always allow…' }).click()
    const panel = page.getByRole('dialog', { name: 'Always allow calls like this' })
    await expect(panel.getByTestId('rule-call')).toContainText('npm test -- --run ./c')
    await expect(panel.getByTestId('rule-text')).toContainText('npm test')
    await expect(panel.getByTestId('back-test')).toContainText(
      '3 of the 3 earlier requests: 1 same as people decided, 1 opposite, 1 unanswered',
    )
    await expect(panel.getByRole('list', { name: 'Examples' })).toContainText('not now')
    expect(await accessibilityViolations(page)).toEqual([])

    // Neither Enter nor a deciding key creates a rule.
    await page.keyboard.press('Control+Enter')
    await page.keyboard.press('a')
    await expect(panel).toBeVisible()
    expect(await fetch(hub.url + '/api/rules').then((r) => r.json())).toEqual([])

    await panel.getByText('15 min').click()
    await expect(panel.getByTestId('rule-text')).toContainText(/15 min|until/)
    await panel.getByRole('button', { name: 'Create rule' }).click()
    await expect(panel).toHaveCount(0)
    await expect(detail(page, id)).toContainText(/Rule \d+ created/)
    await expect(detail(page, id).getByRole('button', { name: /^Approve/ })).toBeVisible() // the rule does not answer the pending request

    const next = await ask(agent, hub, 'npm test -- --run ./d')
    expect((await next.answer).permission).toBe(true)
    await expect(row(page, next.id)).toContainText('Approved')
    await choose(page, next.id)
    const answered = detail(page, next.id).getByTestId('answered-by')
    await expect(answered).toContainText('A rule answered this.')
    await answered.getByRole('button', { name: /^Revoke/ }).click()
    await answered.getByRole('button', { name: 'Confirm revoke' }).click()
    await expect(answered).toContainText('revoked')
    const after = await ask(agent, hub, 'npm test -- --run ./e')
    await expect(row(page, id)).toContainText('2 × Run npm test -- --run …') // with the one that is still open
    await page.getByRole('button', { name: '2 like calls; show each.' }).click()
    await expect(
      page.getByRole('region', { name: 'Needs you' }).locator(`[data-id="${after.id}"]`),
    ).toBeVisible()
  })

  test('offer only the whole command if the program runs code', async ({ page, hub, agent }) => {
    const { id } = await ask(agent, hub, 'make check')
    await openAt(page, hub)
    await choose(page, id)
    await (await openMore(page, id)).getByRole('button', { name: 'Always allow…' }).click()
    const panel = page.getByRole('dialog', { name: 'Always allow calls like this' })
    await expect(panel.getByTestId('rule-text')).toContainText('command is "make check"')
    await expect(panel).toContainText('only the whole command can be allowed')
    await expect(panel.getByLabel('Value to compare command with')).toBeDisabled()
    await expect(panel.getByRole('radio', { name: /Every call of this tool/ })).toHaveCount(0)
    expect(await accessibilityViolations(page)).toEqual([])
    await panel.getByRole('button', { name: 'Create rule' }).click()
    await expect(panel).toHaveCount(0)
    expect((await (await ask(agent, hub, 'make check')).answer).permission).toBe(true)
    const other = await ask(agent, hub, 'make check SHELL=x')
    await expect(row(page, other.id)).toContainText('Run a shell command')
  })

  test('are listed with their use, revoked with two presses, and collapsed once over', async ({
    page,
    hub,
    agent,
  }) => {
    const { id } = await ask(agent, hub, 'make lint')
    const draft = {
      from: id,
      then: 'deny',
      scope: 'call',
      reach: 'agent',
      ttlSeconds: 900,
      reason: 'Use the copy',
    }
    const rule = (await callApi(page, 'POST', '/api/rules', draft)) as { id: number }
    await openAt(page, hub, '/policy')
    const line = page.locator(`[data-rule="${rule.id}"]`)
    await expect(line).toContainText(/1[0-4]:\d\d left|15:00 left/)
    await expect(line).toContainText('not used yet')
    await expect(line).toContainText(`#${id}`)
    await expect(line).toContainText('Use the copy')
    expect((await (await ask(agent, hub, 'make lint')).answer).permission).toBe(false)
    await expect(line).toContainText('used once')
    expect(await accessibilityViolations(page)).toEqual([])
    await line.getByRole('button', { name: /^Revoke/ }).click()
    await page.keyboard.press('Escape')
    await page.locator('h1').click() // a click elsewhere cancels
    await expect(line.getByRole('button', { name: /^Revoke/ })).toBeVisible()
    await line.getByRole('button', { name: /^Revoke/ }).click()
    await expect(line.getByRole('button', { name: 'Confirm revoke' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'No rules yet' })).toBeVisible()
    await page.getByText('1 expired or revoked rule').click()
    await expect(line).toContainText('revoked')
  })

  test('are not offered for a request that always needs a person', async ({ page, hub, agent }) => {
    const { id } = await ask(agent, hub, 'rm -rf /home/dev/app', { risk: 'high' })
    await openAt(page, hub)
    await choose(page, id)
    await expect(await openMore(page, id)).toContainText(
      /High-risk requests always need a person; rules never apply/,
    )
    await expect(detail(page, id).getByRole('button', { name: /Always/ })).toHaveCount(0)
  })

  test('repeat a denial for the rest of the session', async ({ page, hub, agent }) => {
    const { id, answer } = await ask(agent, hub, 'git push')
    await openAt(page, hub)
    await choose(page, id)
    await page.keyboard.press('d')
    await page.getByLabel(/instead/).fill('I push myself')
    await page.getByLabel(/Don’t ask again/).check()
    await page.getByLabel(/instead/).press('Control+Enter')
    expect(await answer).toMatchObject({ permission: false, reason: 'I push myself' })
    const again = await ask(agent, hub, 'git push')
    expect(await again.answer).toMatchObject({ permission: false, reason: 'I push myself', source: 'rule' })
    const elsewhere = await agent.ask(hub.fromOtherProcess(), bash('git push'), { session_id: 's2' })
    await expect(row(page, elsewhere.id)).toBeVisible()
  })

  test('give duplicate requests of a session one row, one count and one answer', async ({
    page,
    hub,
    agent,
  }) => {
    const asked = [
      await ask(agent, hub, 'npm ci'),
      await ask(agent, hub, 'npm ci'),
      await ask(agent, hub, 'npm ci'),
    ]
    const [first, second] = asked.map(({ id }) => id)
    await openAt(page, hub)
    await expect(row(page, first!)).toContainText('×3')
    await expect(row(page, second!)).toHaveCount(0)
    await expect(page.getByTestId('count')).toHaveText(/^1/)
    await page.getByRole('button', { name: /3 agents are asking the same thing/ }).click()
    await expect(row(page, second!)).toBeVisible()
    await choose(page, first!)
    await expect(detail(page, first!).getByTestId('duplicates')).toContainText(
      '3 agents are asking the same thing',
    )
    expect(await accessibilityViolations(page)).toEqual([])
    await page.keyboard.press('a')
    for (const { answer } of asked) expect((await answer).permission).toBe(true)
    await visit(page, '/?tab=decided')
    for (const { id } of asked) await expect(row(page, id)).toContainText('Approved')
  })
})
