import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { cliBinary } from './build-binaries.ts'
import { sample } from './hook-home.ts'
import { detail, expect, waitUntilLive, openAt, row, test } from './fixtures.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const step = (page: Page, id: string) => page.getByTestId(`step-${id}`)
const command = (page: Page, id: string, n = 0) => step(page, id).locator('pre').nth(n).innerText()

interface Machine {
  home: string
  /** first directory on the PATH */
  bin: string
}

/** Creates a home directory with hookback on the PATH, like go install. */
async function aMachine(): Promise<Machine> {
  const home = await mkdtemp(join(tmpdir(), 'hookback-home-'))
  const bin = join(home, 'bin')
  await mkdir(bin)
  await symlink(cliBinary, join(bin, 'hookback'))
  return { home, bin }
}

/**
 * Returns the GOFLAGS that build programs which find the account's files in HOME. A real one
 * reads the account database, so it would pin the test's hub in the developer's own files.
 */
async function testAccountFlags({ home }: Machine): Promise<string> {
  const source = join(root, 'agentclient', 'internal', 'account', 'account_unix.go')
  const text = await readFile(source, 'utf8')
  const start = 'func lookUp() (string, error) { '
  expect(text).toContain(start)
  const [replacement, overlay] = [join(home, 'account_unix.go'), join(home, 'overlay.json')]
  const inTest = 'if home := os.Getenv("HOME"); home != "" { return home, nil }; '
  await writeFile(replacement, text.replace(start, start + inTest))
  await writeFile(overlay, JSON.stringify({ Replace: { [source]: replacement } }))
  return `${process.env.GOFLAGS ?? ''} -overlay=${overlay}`.trim()
}

/** Runs a shell command in the repository. */
function shell(text: string, { home, bin }: Machine, { stdin = '', more = {} } = {}) {
  const own = { HOME: home, XDG_CONFIG_HOME: '', XDG_STATE_HOME: '', PATH: `${bin}:${process.env.PATH}` }
  // Go keeps its module and build caches.
  const go = { GOPATH: process.env.GOPATH ?? join(process.env.HOME ?? '', 'go'), GOCACHE: goCache }
  const child = spawn('sh', ['-c', text], { cwd: root, env: { ...process.env, ...go, ...own, ...more } })
  let out = ''
  for (const from of [child.stdout, child.stderr]) from.on('data', (data) => (out += String(data)))
  child.stdin.on('error', () => undefined) // a command that reads nothing has already ended
  child.stdin.end(stdin)
  return { child, ended: once(child, 'exit').then(([code]) => ({ code: code as number, out })) }
}
const goCache = execFileSync('go', ['env', 'GOCACHE'], { encoding: 'utf8' }).trim()

test.describe('Setup', () => {
  test('leads from an empty inbox to a first request in one click', async ({ page, hub }) => {
    await openAt(page, hub)
    await expect(page.getByRole('heading', { name: 'No requests yet' })).toBeVisible()
    await page.getByRole('link', { name: 'Connect agents' }).click()
    await expect(page).toHaveURL(/\/settings\/agents$/)
    await expect(step(page, 'test')).not.toHaveAttribute('data-done')
    await page.getByRole('button', { name: 'Send a test request' }).click()
    await expect(step(page, 'test')).toHaveAttribute('data-done')
    await expect(step(page, 'test')).toContainText(/received .+ ago/)
    await page.getByRole('link', { name: 'Answer it in the inbox' }).click()
    await expect(page).toHaveURL(/\/inbox\/\d+$/)
    const id = Number(/(\d+)$/.exec(page.url())?.[1])
    await expect(detail(page, id)).toContainText('rm -r ./build')
    await expect(detail(page, id)).toContainText('nothing is deleted')
    await row(page, id).click()
    await page.keyboard.press('a')
    await expect(detail(page, id).getByTestId('delivery-steps')).toContainText(/ran/)
    await expect(page.getByText('not delivered')).toHaveCount(0)
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await expect(step(page, 'test')).toHaveAttribute('data-done')
  })

  test('completes the step of the command with its commands, run as written', async ({ page, hub }) => {
    test.setTimeout(600_000) // it compiles Go code
    const machine = await aMachine()
    await openAt(page, hub, '/settings/agents')
    const GOFLAGS = await testAccountFlags(machine)
    const more = { GOBIN: join(machine.home, 'go'), GOFLAGS }
    const installed = await shell(await command(page, 'ask'), machine, { more }).ended
    expect(installed).toEqual({ code: 0, out: '' })
    await expect(step(page, 'ask')).not.toHaveAttribute('data-done')
    const bin = join(machine.home, 'go') // has the binary that was just installed
    const run = shell(await command(page, 'ask', 1), { ...machine, bin }, { more })
    await expect(step(page, 'ask')).toHaveAttribute('data-done', '', { timeout: 180_000 })
    const pending = (await (await fetch(`${hub.url}/events?status=pending`)).json()) as { id: number }[]
    expect(pending).toHaveLength(1)
    await hub.post(`/events/${pending[0]!.id}/respond`, { permission: true })
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(/^approved$/m)
    await page.reload()
    await waitUntilLive(page)
    await expect(step(page, 'ask')).toHaveAttribute('data-done')
    await rm(machine.home, { recursive: true })
  })

  /** A recorded hook input of each coding agent, and the flags of its hook. */
  const heard: Record<string, [sample: string, flags?: string]> = {
    'claude-code': ['claude-code-SessionStart'],
    codex: ['codex-SessionStart'],
    gemini: ['gemini-Notification'],
    cursor: ['cursor-preToolUse'],
    copilot: ['copilot-notification', '--event Notification'],
    opencode: ['opencode-permission.asked', '--observe'],
    qwen: ['qwen-PreToolUse'],
    droid: ['droid-PreToolUse'],
    crush: ['crush-PreToolUse'],
    cline: ['cline-PreToolUse'],
    windsurf: ['windsurf-pre_run_command'],
    kiro: ['kiro-preToolUse'],
    antigravity: ['antigravity-PreToolUse', '--event PreToolUse'],
  }

  test("installs each coding agent's hook and shows its first event", async ({ page, hub }) => {
    const machine = await aMachine()
    await mkdir(join(machine.home, '.kiro', 'agents'), { recursive: true })
    await writeFile(join(machine.home, '.kiro', 'agents', 'mine.json'), '{"name": "mine"}')
    await openAt(page, hub, '/settings/agents')
    const rows = step(page, 'agents').locator('.agents li')
    await expect(rows).toHaveCount(Object.keys(heard).length)
    for (const [id, [name, flags = '']] of Object.entries(heard)) {
      const line = page.getByTestId(`agent-${id}`)
      await expect(line).not.toHaveAttribute('data-done')
      const { code, out } = await shell(await line.locator('.command').innerText(), machine).ended
      expect(code, out).toBe(0)
      const file = (await line.locator('.more code').innerText())
        .replace('~', machine.home)
        .replace('*', 'mine')
      const written = file.endsWith('/') ? join(file, 'PreToolUse') : file
      expect(await readFile(written, 'utf8'), id).toMatch(/hookback/)
      const stdin = JSON.stringify(await sample(name))
      const hook = `HOOKBACK_URL=${hub.url} hookback hook ${id} ${flags}`
      await expect(async () => {
        // A hook that a busy machine delays keeps its event for the next one.
        expect(await shell(hook, machine, { stdin }).ended, id).toEqual({ code: 0, out: '' })
        await expect(line).toHaveAttribute('data-done', '', { timeout: 5_000 })
      }).toPass()
      await expect(line).toContainText(/received .+ ago/)
    }
    await page.reload()
    await expect(page.getByTestId('agent-kiro')).toHaveAttribute('data-done', '')
    await rm(machine.home, { recursive: true })
  })

  test('runs the policy snippet, and the doctor and Claude Code HTTP snippets of the guide, as written', async ({
    page,
    hub,
  }) => {
    const machine = await aMachine()
    await openAt(page, hub, '/settings/agents')
    const block = (name: string) => page.getByRole('region', { name: new RegExp(`^${name}: `) }).innerText()
    expect((await shell(await block('Connect your agents'), machine).ended).out).toContain(
      'no coding agent was found',
    )
    await mkdir(join(machine.home, '.claude'))
    expect((await shell(await block('Connect your agents'), machine).ended).code).toBe(0)
    expect((await shell(await block('Policy'), machine).ended).code).toBe(0)
    const doctor = await shell(`HOOKBACK_URL='${hub.url}' hookback doctor`, machine).ended
    expect(doctor.code, doctor.out).toBe(0)
    await expect(page.getByTestId('agent-claude-code')).not.toHaveAttribute('data-done')

    const link = page.getByRole('link', { name: 'Claude Code without installing anything' })
    await expect(link).toHaveAttribute('href', '/docs/agents#claude-code-without-an-installation')
    const guide = await readFile(join(root, 'server/docs/guide/agents.md'), 'utf8')
    const settings = /```json\n(\{"hooks": .*?)```/s.exec(guide)![1]!
    const { hooks } = JSON.parse(settings.replaceAll('http://127.0.0.1:4000', hub.url)) as {
      hooks: Record<string, [{ hooks: [Record<string, unknown> & { url: string }] }]>
    }
    for (const [name, [group]] of Object.entries(hooks)) {
      const limit = { PermissionRequest: 3600, Elicitation: 120 }[name]
      expect(group.hooks[0].timeout, name).toBe(limit)
      expect(group.hooks[0].url.endsWith(`?limit=${limit}`), name).toBe(limit !== undefined)
      expect(group.hooks[0], name).toMatchObject({
        headers: { 'X-Claude-Entrypoint': '$CLAUDE_CODE_ENTRYPOINT' },
        allowedEnvVars: ['CLAUDE_CODE_ENTRYPOINT'],
      })
    }
    expect(Object.keys(hooks)).toHaveLength(14)
    expect(hooks).not.toHaveProperty('SessionStart') // Claude Code runs no HTTP hooks for this event
    const call = async (event: string, name: string) =>
      fetch(hooks[event]![0].hooks[0].url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(await sample(name)),
      })
    expect((await call('Stop', 'claude-code-Stop')).status).toBe(200)
    await expect(page.getByTestId('agent-claude-code')).toHaveAttribute('data-done', '')
    const asked = call('PermissionRequest', 'claude-code-PermissionRequest-Bash').then((r) => r.json())
    const pending = async () =>
      (await (await fetch(`${hub.url}/events?status=pending`)).json()) as { id: number; agent: string }[]
    await expect.poll(async () => (await pending()).map((e) => e.agent)).toEqual(['claude-code'])
    await hub.post(`/events/${(await pending())[0]!.id}/respond`, { permission: true })
    expect(await asked).toEqual({
      hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
    })
    await rm(machine.home, { recursive: true })
  })
})
