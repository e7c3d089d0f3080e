import { accessibilityViolations } from './accessibility.ts'
import { expect, openAt, test } from './fixtures.ts'

test.describe('Files of a session', () => {
  test('are listed with the diffs of their calls', async ({ page, hub }) => {
    const end = (tool_use_id: string, tool_name: string, tool_input: object, extra: object = {}) =>
      hub.event('PostToolUse', { tool_use_id, tool_name, tool_input, cwd: '/src', ...extra })
    await hub.event('UserPromptSubmit', { prompt: 'Fix the list', cwd: '/src' })
    await end('t1', 'Edit', {
      file_path: '/src/list.go',
      old_string: 'one\ntwo',
      new_string: 'one\nTWO\nthree',
    })
    await end('t2', 'Write', { file_path: '/src/<b>notes</b>.md', content: 'a\nb\n' })
    await hub.event('PostToolUseFailure', {
      tool_use_id: 't3',
      tool_name: 'Write',
      tool_input: { file_path: '/src/failed.go', content: 'x' },
      error: 'denied',
    })
    await openAt(page, hub, '/sessions/api/s1?tab=files')
    const files = page.getByTestId('files')
    await expect(files.getByRole('button')).toHaveCount(2)
    await expect(files).toContainText('<b>notes</b>.md')
    await expect(files).not.toContainText('failed.go')
    const file = files.getByRole('button', { name: /list\.go/ })
    await expect(file).toContainText('+2')
    await expect(file).toContainText('−1')
    await file.click()
    await expect(file).toHaveAttribute('aria-expanded', 'true')
    await expect(files).toContainText('three')
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await accessibilityViolations(page)).toEqual([])
    }
    await file.click()
    await expect(files).not.toContainText('three')

    await end('t4', 'Edit', { file_path: '/src/new.go', old_string: 'a', new_string: 'b' })
    await expect(files.getByRole('button', { name: /new\.go/ })).toBeVisible()
  })
})
