import type { Page } from '@playwright/test'
import { openInNewBrowser, callApi, invitePerson, claimHub } from './people.ts'
import type { Agent } from './agent.ts'
import type { HubProcess } from './hub.ts'
import { choose, detail, expect, waitUntilLive, row, test as base } from './fixtures.ts'

/** Two people, each in a separate browser. */
const test = base.extend<{ mara: Page; noor: Page }>({
  mara: async ({ page, hub }, use) => {
    await claimHub(page, hub)
    await use(page)
  },
  noor: async ({ mara, browser, watch }, use) => {
    const noor = await openInNewBrowser(browser, watch, await invitePerson(mara, 'noor', 'admin'))
    await expect(noor.getByTestId('current-user')).toContainText('noor')
    await waitUntilLive(noor)
    await use(noor)
  },
})

const needsBoth = {
  requiredApprovals: 2,
  recipients: { mode: 'selected_members', members: ['mara', 'noor'] },
}
const bash = (command: string) => ({ toolCall: { name: 'Bash', arguments: { command }, editable: true } })
const ask = (agent: Agent, hub: HubProcess, more: object) =>
  agent.ask(hub.fromOtherProcess(), { question: 'Ship it?', ...needsBoth, ...more })
const votes = (page: Page, id: number) => detail(page, id).getByTestId('votes')

test.describe('Votes', () => {
  test('are visible to each voter, and the second one decides', async ({ mara, noor, hub, agent }) => {
    const { id, answer } = await ask(agent, hub, {})
    await choose(mara, id)
    await expect(votes(mara, id)).toContainText('Needs 2 of 2 to agree')
    await mara.keyboard.press('c')
    await mara.getByLabel('Comment').fill('Tests are green.')
    await mara.keyboard.press('Control+Enter')
    await expect(row(mara, id)).toBeVisible()
    await choose(noor, id)
    await expect(votes(noor, id)).toContainText('Tests are green.')
    await expect(votes(noor, id)).toContainText('Waiting for noor (you)')
    await noor.keyboard.press('a')
    expect(await answer).toMatchObject({ permission: true, outcome: 'approve' })
    await mara.goto(`${hub.url}/inbox/${id}`)
    const settled = detail(mara, id).getByTestId('settled')
    await expect(settled).toContainText('Approved')
    await expect(settled).toContainText('noor')
    await expect(settled).toContainText('signed in')
    await expect(votes(mara, id).locator('.won')).toContainText('Approve')
  })

  test('can be changed while pending, and end without a majority', async ({ mara, noor, hub, agent }) => {
    const { id, answer } = await ask(agent, hub, {})
    await choose(mara, id)
    await mara.keyboard.press('a')
    await expect(votes(mara, id)).toContainText(/mara \(you\)\s+Approve/)
    await expect(detail(mara, id)).toContainText('voting again replaces your vote')
    await choose(mara, id) // an answer starts a grace period; selecting ends it
    await mara.keyboard.press('Shift+D')
    await expect(votes(mara, id)).toContainText(/mara \(you\)\s+Deny/)
    await choose(noor, id)
    await noor.keyboard.press('a')
    expect(await answer).toMatchObject({ permission: false, outcome: '__no_quorum__' })
    await expect(detail(mara, id).getByTestId('settled')).toContainText('No majority')
  })

  test('are cleared by an edit, which the other voter reviews after a grace period', async ({
    mara,
    noor,
    hub,
    agent,
  }) => {
    const { id, answer } = await ask(agent, hub, bash('rm -rf build'))
    await choose(mara, id)
    await mara.keyboard.press('a')
    await expect(votes(mara, id)).toContainText(/mara \(you\)\s+Approve/)
    await choose(noor, id)
    await noor.keyboard.press('e')
    await noor.getByLabel('command', { exact: true }).fill('rm -r build')
    await noor.getByRole('button', { name: /Approve with 1 edit/ }).click()
    const edited = detail(mara, id).getByTestId('voter-edit')
    await expect(edited).toContainText('noor changed this call')
    await expect(edited.locator('del')).toContainText('rf')
    await expect(votes(mara, id)).toContainText('Waiting for mara (you)')
    await expect(votes(mara, id)).not.toContainText(/mara \(you\)\s+Approve/)
    await mara.setViewportSize({ width: 1360, height: 1400 }) // everything must be visible before approval
    await choose(mara, id) // the edit started a grace period
    await mara.getByRole('button', { name: /^Approve/ }).click()
    expect(await answer).toMatchObject({ permission: true, modifiedArguments: { command: 'rm -r build' } })
  })

  test('are refused to people who are not recipients, with the reason', async ({ noor, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Ship it?', recipients: { mode: 'owner' } })
    await noor.goto(`${hub.url}/inbox/${id}`)
    await expect(noor.getByTestId('cannot-answer')).toContainText('This is addressed to mara')
    await noor.keyboard.press('a')
    // An answer of the page would have been sent before this request.
    expect(await callApi(noor, 'GET', `/events/${id}`)).toMatchObject({
      humanInTheLoopStatus: { status: 'pending' },
    })
    await expect(detail(noor, id).getByTestId('settled')).toHaveCount(0)
  })

  test('get a longer deadline by keyboard', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, { question: 'Ship it?', timeout: 120 })
    await page.goto(`${hub.url}/inbox/${id}`)
    await waitUntilLive(page)
    await choose(page, id)
    const steps = detail(page, id).getByTestId('extend')
    await page.keyboard.press('t')
    await expect(steps).toBeVisible()
    await page.keyboard.press('2')
    await expect(detail(page, id)).toContainText(/16:\d\d|17:00/)
    await expect(steps).toHaveCount(0) // while they are open, the key closes them
    await page.keyboard.press('t')
    await expect(steps).toBeVisible()
    await page.keyboard.press('4')
    await expect(detail(page, id)).toContainText('No deadline')
  })
})
