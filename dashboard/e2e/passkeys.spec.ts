import type { CDPSession, Page } from '@playwright/test'
import { accessibilityViolations } from './accessibility.ts'
import { HubProcess } from './hub.ts'
import { atHubAddress, callApi, claimHub, invitePerson, openInNewBrowser, userBadge } from './people.ts'
import { choose, detail, expect, test as base } from './fixtures.ts'

/** A hub that requires passkeys, opened under the host name that they are bound to. */
const test = base.extend({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  hub: async ({}, use) => {
    const hub = await HubProcess.start(['-passkeys', 'high'])
    hub.url = hub.url.replace('127.0.0.1', 'localhost')
    hub.signInLink = atHubAddress(hub, hub.signInLink)
    await use(hub)
    await hub.remove()
  },
})

/** A virtual authenticator that accepts or rejects its user. */
class Device {
  private constructor(
    private readonly cdp: CDPSession,
    private readonly id: string,
  ) {}

  static async of(page: Page): Promise<Device> {
    const cdp = await page.context().newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    return new Device(cdp, authenticatorId)
  }

  /** Sets whether user verification succeeds. */
  async verifies(isUserVerified: boolean): Promise<void> {
    await this.cdp.send('WebAuthn.setUserVerified', { authenticatorId: this.id, isUserVerified })
  }
}

async function addPasskey(page: Page, hub: HubProcess): Promise<void> {
  await page.goto(`${hub.url}/team/people`)
  const mine = page.getByRole('region', { name: 'Your passkeys' })
  await mine.getByRole('button', { name: 'Add passkey' }).click()
  await mine.getByLabel('Name').fill('this laptop')
  await mine.getByRole('button', { name: 'Create passkey' }).click()
  await expect(mine.getByRole('listitem')).toContainText('this laptop')
}

/** Holds the approve key down until the given result appears. */
async function approve(page: Page, comes: () => Promise<unknown>): Promise<void> {
  await page.keyboard.down('a')
  await comes()
  await page.keyboard.up('a')
}

test.describe('Passkeys', () => {
  test('are required to approve a risky request, for exactly that answer', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub.fromOtherProcess(), {
      question: 'Drop the table?',
      risk: 'high',
    })
    const device = await Device.of(page)
    await claimHub(page, hub)
    await choose(page, id)
    const card = detail(page, id)
    await expect(card.getByTestId('cannot-answer')).toContainText('This needs a passkey')
    await expect(card.getByRole('button', { name: /^Approve/ })).toHaveCount(0)
    await expect(card.getByRole('button', { name: /^Deny/ })).toBeVisible()

    await addPasskey(page, hub)
    await page.goto(`${hub.url}/inbox/${id}`)
    await expect(card.getByRole('button', { name: /^Approve/ })).toBeVisible()
    await expect(card.getByTestId('cannot-answer')).toHaveCount(0)
    await device.verifies(false)
    const refused = card.getByRole('alert')
    await approve(page, () => expect(refused).toContainText('Your passkey was not used'))
    await expect(refused).toContainText('Nothing was sent')
    expect(await callApi(page, 'GET', `/events/${id}`)).toMatchObject({
      humanInTheLoopStatus: { status: 'pending' },
    })

    await device.verifies(true)
    await approve(page, () => answer)
    expect(await answer).toMatchObject({
      permission: true,
      respondedBy: { name: 'mara', verified: true, passkey: true },
    })
    await page.goto(`${hub.url}/inbox/${id}`)
    await expect(card.getByTestId('settled')).toContainText('passkey')
    const ledger = (await callApi(page, 'GET', '/api/ledger')) as { act: string; data?: { by?: object } }[]
    expect(ledger.find((e) => e.act === 'question.ended')?.data?.by).toMatchObject({ passkey: true })
    expect(ledger.map((e) => e.act)).toContain('passkey.added')
  })

  test('are not required to deny, even without a sign-in', async ({ page, hub, agent }) => {
    const { id, answer } = await agent.ask(hub, { question: 'Drop the table?', risk: 'critical' })
    await page.goto(`${hub.url}/inbox/${id}`)
    const card = detail(page, id)
    await expect(card.getByTestId('cannot-answer')).toContainText('Sign in, and add yours')
    expect(await callApi(page, 'POST', `/events/${id}/respond`, { permission: true })).toMatchObject({
      code: 'proof_required',
    })
    await card.getByRole('button', { name: /^Deny/ }).click()
    await card.getByRole('button', { name: /^Deny/ }).click()
    expect(await answer).toMatchObject({ permission: false })
  })

  test('link to the address where they work, and the last one stays', async ({
    page,
    hub,
    browser,
    watch,
  }) => {
    await Device.of(page)
    await claimHub(page, hub)
    await addPasskey(page, hub)
    const mine = page.getByRole('region', { name: 'Your passkeys' })
    expect(await accessibilityViolations(page)).toEqual([])
    await mine.getByRole('button', { name: /^Remove/ }).click()
    await mine.getByRole('button', { name: /^Confirm remove/ }).click()
    await expect(mine).toContainText('This is your last passkey')
    await expect(mine.getByRole('listitem')).toContainText('this laptop')

    const number = hub.url.replace('localhost', '127.0.0.1')
    const link = await invitePerson(page, 'noor')
    const noor = await openInNewBrowser(browser, watch, number + '/' + new URL(link).hash)
    await expect(userBadge(noor)).toContainText('noor')
    await noor.goto(`${number}/team/people`)
    const there = noor.getByTestId('passkeys-other-origin').getByRole('link')
    await expect(there).toHaveAttribute('href', `${hub.url}/team/people`)
    await expect(noor.getByRole('button', { name: 'Add passkey' })).toHaveCount(0)
  })
})
