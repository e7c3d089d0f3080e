import { callApi, claimHub, invitePerson, openInNewBrowser } from './people.ts'
import { choose, detail, expect, row, test, waitUntilLive } from './fixtures.ts'

const SHOTS = process.env.SHOTS

const edit = (owner: string) => ({
  question: 'Edit payments/charge.go?',
  toolCall: {
    name: 'Edit',
    arguments: { file_path: '/w/shop/payments/charge.go', old_string: 'a', new_string: 'b' },
  },
  recipients: { owners: true },
  context: {
    cwd: '/w/shop',
    owners: {
      from: '.github/CODEOWNERS of origin/main, commit 1c0ffee',
      files: [{ paths: ['payments/charge.go'], owners: [owner] }],
    },
  },
})

test.describe('Owners', () => {
  test('decide, and everyone else sees who does', async ({ page: mara, browser, watch, hub, agent }) => {
    await claimHub(mara, hub)
    const noor = await openInNewBrowser(browser, watch, await invitePerson(mara, 'noor'))
    await waitUntilLive(noor)
    await callApi(mara, 'POST', '/api/people/noor', { handles: ['@shop/payments'] })
    const owned = await agent.ask(hub.fromOtherProcess(), edit('@shop/payments'))
    const unknown = await agent.ask(hub.fromOtherProcess(), edit('@stranger'))

    await choose(mara, owned.id)
    await expect(detail(mara, owned.id).getByTestId('owners')).toHaveText(
      'Only owners of payments/charge.go decide (.github/CODEOWNERS of origin/main, commit 1c0ffee).',
    )
    await expect(detail(mara, owned.id).getByTestId('cannot-answer')).toContainText('noor')
    if (SHOTS) await mara.screenshot({ path: `${SHOTS}/owners-other.png` })
    expect(await callApi(mara, 'POST', `/events/${owned.id}/respond`, { permission: true })).toMatchObject({
      status: 403,
      code: 'not_allowed',
      hint: 'Only owners of the files may decide: noor.',
    })
    await choose(mara, unknown.id)
    await expect(detail(mara, unknown.id).getByTestId('owners')).toContainText(
      'No owner of payments/charge.go (@stranger) is a member here',
    )
    if (SHOTS) await mara.screenshot({ path: `${SHOTS}/owners-unknown.png` })

    // "Waiting on me" has what the person decides, and what went to everyone.
    await mara.goto(`${hub.url}/inbox?mine=1`)
    await expect(row(mara, unknown.id)).toBeVisible()
    await expect(row(mara, owned.id)).toHaveCount(0)
    await noor.goto(`${hub.url}/inbox?mine=1`)
    await expect(row(noor, unknown.id)).toBeVisible()
    await choose(noor, owned.id)
    if (SHOTS) await noor.screenshot({ path: `${SHOTS}/owners-owner.png` })
    await noor.keyboard.press('a')
    expect(await owned.answer).toMatchObject({ permission: true, outcome: 'approve' })
  })
})
