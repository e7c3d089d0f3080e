import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { accessibilityViolations } from './accessibility.ts'
import { cliBinary } from './build-binaries.ts'
import { expect, openAt, test as base } from './fixtures.ts'
import { HubProcess } from './hub.ts'

const test = base.extend<{ home: string }>({
  // eslint-disable-next-line no-empty-pattern -- Playwright's form for "no dependencies"
  home: async ({}, use) => {
    const home = await mkdtemp(join(tmpdir(), 'hookback-home-'))
    await use(home)
    await rm(home, { recursive: true })
  },
  hub: async ({ home }, use) => {
    const hub = await HubProcess.start([], { HOME: home })
    await use(hub)
    await hub.remove()
  },
})

test.describe('Coverage', () => {
  test('turns red when a hook is deleted, without an event', async ({ page, hub, home }) => {
    const env = { PATH: process.env.PATH, HOME: home, HOOKBACK_URL: hub.url }
    const run = (...args: string[]) => promisify(execFile)(cliBinary, args, { cwd: home, env })
    await openAt(page, hub, '/team/coverage')
    await expect(page.getByText('No machine has reported its agents.')).toBeVisible()
    await run('install', '--agent', 'claude-code', '--binary', cliBinary)
    const row = page.getByTestId('coverage').locator('li')
    await expect(row).toHaveAttribute('data-state', 'not proven', { timeout: 60_000 })

    const hook = run('hook', 'claude-code')
    hook.child.stdin?.end('{"session_id":"s","hook_event_name":"Stop"}')
    await hook
    await expect(row).toHaveAttribute('data-state', 'proven', { timeout: 60_000 })
    expect(await accessibilityViolations(page)).toEqual([])

    await writeFile(join(home, '.claude', 'settings.json'), '{}')
    await expect(row).toHaveAttribute('data-state', 'off', { timeout: 60_000 })
    await expect(row).toContainText('hookback install --agent claude-code')
    await openAt(page, hub, '/settings/agents')
    await expect(page.getByTestId('agent-claude-code').locator('.coverage')).toContainText('off')
  })
})
