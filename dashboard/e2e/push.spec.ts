import { wholeBrowser } from '../playwright.config.ts'
import { expect, openAt, test, waitUntilLive } from './fixtures.ts'

test.use(wholeBrowser)

test.describe('App shell', () => {
  test("uses the browser's notification permission and reports an insecure origin", async ({
    page,
    hub,
    context,
  }) => {
    await openAt(page, hub, '/settings/preferences')
    await context.grantPermissions(['notifications'], { origin: hub.url })
    await page.reload()
    await waitUntilLive(page)
    await page.getByText('Desktop notifications').click()
    await page.getByRole('button', { name: 'Test notification' }).click()
    await expect(page.getByText(/^Sent\./)).toBeVisible()
    await page.getByRole('button', { name: 'Test sound' }).click()
    await expect(page.getByText(/^Played\.|blocked the sound/)).toBeVisible()
    await page.getByRole('button', { name: 'Mute for 15 min' }).click()
    await expect(page.getByText(/Muted until/).first()).toBeVisible()
    await page.addInitScript(() => Object.defineProperty(window, 'isSecureContext', { value: false }))
    await page.reload()
    await expect(page.getByTestId('insecure')).toContainText('over https and on localhost only')
  })
})

test.describe('Web Push', () => {
  test('shows one notification per request and closes it when the request is settled', async ({
    page,
    context,
    hub,
  }) => {
    await context.grantPermissions(['notifications'], { origin: hub.url })
    await page.goto(hub.url)
    const scope = await page.evaluate(async () => {
      // Like src/alerts/push.ts: the Trusted Types policy allows no other script URL.
      const types = (
        globalThis as never as {
          trustedTypes: {
            createPolicy(name: string, rules: object): { createScriptURL(url: string): string }
          }
        }
      ).trustedTypes
      const policy = types.createPolicy('hookback-worker', { createScriptURL: (url: string) => url })
      await navigator.serviceWorker.register(policy.createScriptURL('/sw.js'))
      return (await navigator.serviceWorker.ready).scope
    })
    const cdp = await context.newCDPSession(page)
    const registered = new Promise<string>((done) =>
      cdp.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
        const mine = registrations.find((r) => r.scopeURL === scope)
        if (mine) done(mine.registrationId)
      }),
    )
    await cdp.send('ServiceWorker.enable')
    const registrationId = await registered
    const push = (data: unknown) =>
      cdp.send('ServiceWorker.deliverPushMessage', {
        origin: new URL(hub.url).origin,
        registrationId,
        data: JSON.stringify(data),
      })
    const shown = () =>
      page.evaluate(async () => {
        const registration = await navigator.serviceWorker.ready
        return (await registration.getNotifications()).map((n) => `${n.tag} ${n.title} ${n.data?.id}`).sort()
      })
    // On a busy machine Chromium loses some messages of the debugging protocol (2 of 40 first ones), and a
    // repeat only replaces its notification.
    const pushUntil = (data: unknown, notifications: string[]) =>
      expect(async () => {
        await push(data)
        await expect.poll(shown, { timeout: 5_000 }).toEqual(notifications)
      }).toPass({ timeout: 60_000 })
    await pushUntil({ id: 7, title: 'shop asks for an answer', tag: 'request-7' }, [
      'request-7 shop asks for an answer 7',
    ])
    const waiting = 'request-7 shop is still waiting for an answer 7'
    await pushUntil({ id: 7, title: 'shop is still waiting for an answer', tag: 'request-7' }, [waiting])
    const bold = 'request-8 <b>x</b> 8'
    await pushUntil({ id: 8, title: '<b>x</b>', tag: 'request-8' }, [waiting, bold])
    await pushUntil({ id: 7, title: 'This is answered.', tag: 'request-7', settled: true }, [bold])

    // A button of the notification answers; the hub refuses this token.
    const asked = { id: 9, title: 'shop asks', tag: 'request-9', text: 'May I?', token: 'not-a-token' }
    await pushUntil(asked, [bold, 'request-9 shop asks 9'])
    const buttons = () =>
      page.evaluate(async () => {
        const [one] = await (await navigator.serviceWorker.ready).getNotifications({ tag: 'request-9' })
        if (!one) return []
        const { title, body, actions } = one as Notification & { actions?: { action: string }[] }
        return [title, body, ...(actions ?? []).map((a) => a.action)]
      })
    expect(await buttons()).toEqual(['shop asks', 'May I?', 'approve', 'deny'])
    const [worker] = context.serviceWorkers()
    await worker!.evaluate(async () => {
      // A test can make no trusted click, and only those keep the worker running.
      const scope = globalThis as never as {
        registration: ServiceWorkerRegistration
        answer: (notification: Notification, permission: boolean) => Promise<void>
      }
      const [notification] = await scope.registration.getNotifications({ tag: 'request-9' })
      await scope.answer(notification!, true)
    })
    expect(await buttons()).toEqual(['Your answer was not sent', 'not found'])
  })
})
