import { devices, type Browser, type Page } from '@playwright/test'
import { accessibilityViolations, horizontalOverflow, smallTargets } from './accessibility.ts'
import { choose, detail, expect, test as base, waitUntilLive } from './fixtures.ts'
import { HubProcess } from './hub.ts'
import { callApi, claimHub, userBadge } from './people.ts'
import { PublicAddress } from './public-address.ts'

/** A hub on this computer, and an https address that other devices reach. */
const test = base.extend<{ address: PublicAddress; hub: HubProcess }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  address: async ({}, use) => {
    const address = await PublicAddress.open()
    await use(address)
    await address.close()
  },
  hub: async ({ address }, use) => {
    const hub = await HubProcess.start(address.flags, { SSL_CERT_FILE: address.certificateFile })
    await use(hub)
    await hub.remove()
  },
})

/** Opens the settings as hookback pair does, and confirms the address. */
async function confirmAddress(page: Page, hub: HubProcess, address: PublicAddress): Promise<void> {
  await page.goto(`${hub.url}/settings?address=${encodeURIComponent(address.origin)}#hub`)
  await page
    .getByTestId('offered-address')
    .getByRole('button', { name: 'Confirm address and pair a phone' })
    .click()
}

/** Invites a person on the page. Returns the part that shows the link. */
async function invite(page: Page, hub: HubProcess, name: string) {
  await page.goto(`${hub.url}/team/people`)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByRole('button', { name: 'Create link' }).click()
  return page.getByTestId('one-time-secret')
}

/** Opens an address on a phone. */
async function onPhone(browser: Browser, address: PublicAddress, url: string): Promise<Page> {
  const { defaultBrowserType: _, ...phone } = devices['Pixel 7']
  const page = await (await browser.newContext({ ...phone, ...address.device })).newPage()
  await page.goto(url)
  return page
}

test.describe('Reach', () => {
  test('a second person on another device takes three steps once the hub is reachable', async ({
    page,
    hub,
    address,
    agent,
    browser,
    watch,
  }) => {
    await claimHub(page, hub)
    await invite(page, hub, 'noor')
    const note = page.getByTestId('link-reach')
    await expect(note).toContainText('This link only works on this computer')
    await note.getByRole('link', { name: 'Make the hub reachable' }).click()
    await expect(page.getByTestId('reach-state')).toContainText('Links work on one computer only')

    // A link to the settings saves nothing by itself, and an address that leads elsewhere is refused.
    await page.goto(`${hub.url}/settings?address=javascript:alert(1)#hub`)
    await expect(page.getByTestId('offered-address')).toContainText('can’t be a public address')
    await confirmAddress(page, hub, address)
    await expect(page.getByTestId('hub-address').getByRole('alert')).toContainText(
      'The public address was not saved. The hub could not connect to hub.example.com.',
    )
    expect(await callApi(page, 'GET', '/api/reach')).toMatchObject({ state: 'local' })
    address.leadTo(hub.url)
    await confirmAddress(page, hub, address)
    await expect(page.getByTestId('reach-state')).toContainText(address.origin)
    await expect(page).toHaveURL(`${hub.url}/settings/hub`)

    const once = await invite(page, hub, 'bo') // step 1
    await expect(note).toContainText('works on other devices')
    const link = await once.locator('code').innerText()
    expect(link).toContain(`${address.origin}/#sign-in=`)
    const visitor = await (await browser.newContext(address.device)).newPage()
    await visitor.goto(address.origin)
    await expect(visitor.getByTestId('sign-in-required')).toBeVisible()
    await visitor.goto(`${address.origin}/docs/quickstart`)
    await expect(visitor.getByRole('heading', { name: 'Quickstart' })).toBeVisible()
    const { id, answer } = await agent.ask(hub.fromOtherProcess(), { question: 'Ship it?' })
    const device = await (await browser.newContext(address.device)).newPage()
    await watch(device)
    await device.goto(link) // step 2
    await expect(userBadge(device)).toContainText('bo')
    await waitUntilLive(device)
    await choose(device, id)
    await detail(device, id)
      .getByRole('button', { name: /^Approve/ })
      .click() // step 3
    expect(await answer).toMatchObject({ permission: true, respondedBy: { name: 'bo', verified: true } })
  })

  test('pairing a phone is three steps in a dialog, which names the one that is missing', async ({
    page,
    hub,
    address,
  }) => {
    await page.goto(`${hub.url}/settings/hub?new=phone`)
    const dialog = page.getByRole('dialog', { name: 'Pair a phone' })
    await expect(dialog.locator('[aria-current=step]').first()).toContainText('Sign in')
    await page.keyboard.press('Escape')
    await claimHub(page, hub)
    await page.keyboard.press('Control+k')
    await page.keyboard.type('pair phone')
    await page.keyboard.press('Enter')
    await expect(dialog.locator('[aria-current=step]').first()).toContainText(
      'Links work on one computer only',
    )
    address.leadTo(hub.url)
    await dialog.getByLabel('Public address').fill(address.origin)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await expect(dialog.getByRole('img', { name: 'QR code of the pairing link' })).toBeVisible()
    expect(await accessibilityViolations(page)).toEqual([])
  })

  test('a phone pairs with one scan and one tap, and a code works once', async ({
    page,
    hub,
    address,
    browser,
    watch,
  }) => {
    await page.clock.install()
    await claimHub(page, hub)
    address.leadTo(hub.url)
    const made = page.waitForResponse(/\/api\/pairing$/)
    await confirmAddress(page, hub, address)
    await expect(page.getByRole('img', { name: 'QR code of the pairing link' })).toBeVisible()
    expect(await accessibilityViolations(page)).toEqual([])
    const { url } = (await (await made).json()) as { url: string }

    const phone = await onPhone(browser, address, url) // the scan
    await watch(phone)
    await phone.getByRole('button', { name: 'Pair this device' }).tap()
    const paired = phone.getByTestId('pair-device')
    await expect(paired).toContainText('This device is paired. You answer as mara.')
    expect(phone.url()).toBe(`${address.origin}/`)
    await expect(paired).toContainText('Add to Home Screen')
    await expect(paired.getByRole('link', { name: 'Turn on notifications' })).toBeVisible()
    await expect(paired.getByRole('button', { name: 'Add a passkey' })).toBeVisible()
    expect(await accessibilityViolations(phone)).toEqual([])
    expect(await smallTargets(phone)).toEqual([])
    expect(await horizontalOverflow(phone)).toBeLessThanOrEqual(0)
    expect(await callApi(phone, 'GET', '/api/me')).toMatchObject({
      name: 'mara',
      role: 'operator',
      paired: true,
      canAdmin: false,
    })

    await paired.getByRole('link', { name: 'Turn on notifications' }).tap()
    await expect(phone.getByRole('heading', { name: 'Push to this browser' })).toBeInViewport()

    const signIns = await callApi(page, 'GET', '/api/sign-ins')
    const late = await onPhone(browser, address, url)
    await late.getByRole('button', { name: 'Pair this device' }).tap()
    await expect(late.getByTestId('pair-device').getByRole('alert')).toHaveText(
      'This pairing code was already used. Show a new one under Settings, Hub, on your computer.',
    )
    const cut = await onPhone(browser, address, url.slice(0, -3))
    await expect(cut.getByTestId('pair-device').getByRole('alert')).toContainText(
      'Scan the whole QR code again',
    )
    expect(await callApi(page, 'GET', '/api/sign-ins')).toHaveLength((signIns as unknown[]).length)
    expect(await callApi(late, 'GET', '/api/me')).not.toMatchObject({ verified: true })
    await page.clock.fastForward('10:30')
    await expect(page.getByText('The code has expired.')).toBeVisible()
    await expect(page.getByTestId('pairing')).toHaveCount(0)
  })
})
