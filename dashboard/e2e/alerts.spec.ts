import { accessibilityViolations } from './accessibility.ts'
import { expect, openAt, test } from './fixtures.ts'
import { claimHub } from './people.ts'

test.describe('Alerts', () => {
  test('are added by an admin, shown below the inbox, and close by themselves', async ({ page, hub }) => {
    await openAt(page, hub)
    await claimHub(page, hub, 'ada')
    await openAt(page, hub, '/settings/hub')
    await page.getByRole('button', { name: 'Add an alert' }).click()
    const form = page.getByTestId('alert-form')
    await form.getByLabel('Alert when').selectOption({ label: 'many calls fail' })
    await form.getByLabel('Number of last calls').fill('2')
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await expect(page.getByTestId('alert-rules')).toContainText(
      '50 % of the last 2 calls of a session failed.',
    )

    const end = (command: string, failed: boolean) => ({
      source_app: 'api',
      session_id: 's1',
      hook_event_type: failed ? 'PostToolUseFailure' : 'PostToolUse',
      payload: { tool_name: 'Bash', tool_input: { command }, ...(failed && { error: 'exit status 1' }) },
    })
    await hub.post('/events', end('make', true))
    await hub.post('/events', end('make test', true))
    await expect(page.getByTestId('alert-rules')).toContainText('open now')
    await openAt(page, hub, '/')
    const alerts = page.getByTestId('alerts')
    await expect(alerts).toContainText('2 of the last 2 calls failed.')
    expect(await accessibilityViolations(page)).toEqual([])
    await alerts.getByRole('link', { name: 'api' }).click()
    await expect(page).toHaveURL(hub.url + '/sessions/api/s1')

    await openAt(page, hub, '/')
    await expect(alerts).toBeVisible()
    for (const command of ['ls', 'pwd']) await hub.post('/events', end(command, false))
    await expect(alerts).toHaveCount(0)
    await openAt(page, hub, '/settings/hub')
    await page.getByRole('button', { name: /^Remove the alert/ }).click()
    await expect(page.getByText('No alert rules yet.')).toBeVisible()
  })
})
