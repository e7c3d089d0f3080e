import { accessibilityViolations } from './accessibility.ts'
import { detail, expect, openAt, test } from './fixtures.ts'
import { callApi, claimHub } from './people.ts'
import { Telegram } from './telegram.ts'

test.describe('Chat', () => {
  test('a linked Telegram account approves with one tap, until it is unlinked', async ({
    page,
    hub,
    agent,
  }) => {
    const telegram = await Telegram.start()
    try {
      await claimHub(page, hub)
      const sendName = telegram.holdName()
      await callApi(page, 'POST', '/api/channels', { name: 'phones', url: telegram.channel }) // the form has Telegram's own address
      await openAt(page, hub, '/settings/hub')
      const channel = page.locator('[data-channel="phones"]')
      await expect(channel).toBeVisible()
      sendName() // an open page shows the bot that the hub has just reached
      await expect(channel).toContainText('@hookback_test_bot')

      await openAt(page, hub, '/settings/preferences')
      await page.getByRole('button', { name: 'Link a chat account' }).click()
      const code = await page.getByText(/^\/start \S+$/).innerText()
      telegram.say(code)
      await expect(async () => {
        await page.getByRole('button', { name: 'I have sent it' }).click()
        await expect(page.getByText(/is linked\.$/)).toBeVisible({ timeout: 1000 })
      }).toPass()
      expect(await accessibilityViolations(page)).toEqual([])

      const asked = await agent.ask(hub.fromOtherProcess(), { question: 'Ship 4.2?' })
      await telegram.press('Approve')
      expect((await asked.answer).permission).toBe(true)
      await expect.poll(() => telegram.messages.at(-1)?.text).toContain('mara')
      expect(telegram.messages.at(-1)?.buttons).toEqual({})
      await openAt(page, hub, `/inbox/${asked.id}`)
      await expect(detail(page, asked.id)).toContainText('via Telegram')

      await openAt(page, hub, '/settings/preferences')
      await page.getByRole('button', { name: /^Remove\s*: @mara_t/ }).click()
      await page.getByRole('button', { name: /^Confirm remove/ }).click()
      await expect(page.getByRole('button', { name: /^Remove\s*: @mara_t/ })).toHaveCount(0)
      const later = await agent.ask(hub.fromOtherProcess(), { question: 'Ship 4.3?' })
      await telegram.press('Approve')
      await openAt(page, hub, `/inbox/${later.id}`)
      await expect(detail(page, later.id).getByRole('button', { name: /^Approve/ })).toBeEnabled()
    } finally {
      telegram.stop()
    }
  })
})
