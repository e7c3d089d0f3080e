import { accessibilityViolations } from './accessibility.ts'
import { detail, expect, openAt, test } from './fixtures.ts'

const CALL = { tool_name: 'Bash', tool_use_id: 't1' }
const question = {
  question: 'Clean up?',
  timeout: 3600,
  toolCall: {
    name: 'Bash',
    arguments: { command: 'rm -rv data' },
    consequence: { sentences: ['Removes 1 file.'], files: 1, changes: ['/srv/data'] },
  },
}

test.describe('Approved call', () => {
  test('shows that it runs, stops the session, and then shows what it did', async ({ page, hub, agent }) => {
    const { id } = await agent.ask(hub, question, { ...CALL, session_id: 's1', payload: { cwd: '/srv' } })
    await hub.post(`/events/${id}/respond`, { permission: true })
    await openAt(page, hub, `/inbox/${id}`)
    const runs = detail(page, id).getByTestId('call-runs')
    await expect(runs).toContainText('Running for')
    await runs.getByRole('button', { name: 'Stop' }).click()
    await expect(runs).toContainText('The session is frozen')
    await expect(page.getByTestId('freeze-bar')).toBeVisible()

    const stdout = [...Array(30).keys()].map((i) => `line ${i} <b>`).join('\n') + "\nremoved 'a'\nremoved 'b'"
    const end = { cwd: '/srv', tool_input: { command: 'rm -rv data' } }
    const response = { stdout, exit_code: 3, filePath: '/srv/other\u202e.go' }
    await hub.event('PostToolUse', { ...end, tool_response: response }, CALL)
    const result = detail(page, id).getByTestId('call-result')
    await expect(result).toContainText('Exit status 3')
    await expect(result).toContainText('Output, the last 20 of 32 lines')
    await expect(result.locator('pre')).toContainText("line 29 <b>\nremoved 'a'\nremoved 'b'")
    await expect(result.locator('pre')).not.toContainText('line 11 ')
    await expect(result.getByRole('alert')).toContainText('It reported 2 deleted files; 1 were announced.')
    await expect(result.getByRole('alert')).toContainText(
      'It changed /srv/other.go, which was not announced.',
    )
    await expect(runs).toHaveCount(0)
    expect(await accessibilityViolations(page)).toEqual([])
  })
})
