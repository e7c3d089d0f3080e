import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from '@playwright/test'
import { detail, expect, live, openAt, row, test } from './page.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const step = (page: Page, id: string) => page.getByTestId(`step-${id}`)
const command = (page: Page, id: string, n = 0) => step(page, id).locator('pre').nth(n).innerText()

/** Runs a command as a person would, in a terminal in the repository. */
function shell(text: string, { stdin = '', home = process.env.HOME ?? '' } = {}) {
  const child = spawn('sh', ['-c', text], { cwd: root, env: { ...process.env, HOME: home } })
  let out = ''
  for (const from of [child.stdout, child.stderr]) from.on('data', (data) => (out += String(data)))
  child.stdin.end(stdin)
  return { child, ended: once(child, 'exit').then(([code]) => ({ code: code as number, out })) }
}

test('an empty inbox leads to the setup, where the first question is one click away', async ({
  page,
  hub,
}) => {
  await openAt(page, hub)
  await expect(page.getByRole('heading', { name: 'No agent has asked yet' })).toBeVisible()
  await page.getByRole('link', { name: 'Set it up' }).click()
  await expect(page).toHaveURL(/\/setup$/)
  await expect(step(page, 'demo')).not.toHaveAttribute('data-done')
  await page.getByRole('button', { name: 'Raise a hand' }).click()
  await expect(step(page, 'demo')).toHaveAttribute('data-done')
  await expect(step(page, 'demo')).toContainText(/received \d+ s ago/)
  await page.getByRole('link', { name: 'Answer it in the inbox' }).click()
  await expect(page).toHaveURL(/\/inbox\/\d+$/)
  const id = Number(/(\d+)$/.exec(page.url())?.[1])
  await expect(detail(page, id)).toContainText('rm -r ./build')
  await expect(detail(page, id)).toContainText('nothing is deleted')
  await row(page, id).click()
  await page.keyboard.press('a')
  await expect(detail(page, id).getByTestId('ticks')).toContainText(/agent has it/)
  await page.keyboard.press('g')
  await page.keyboard.press('u')
  await expect(step(page, 'demo')).toHaveAttribute('data-done')
})

test('every command that asks works as it is written, and ticks its step', async ({ page, hub }) => {
  test.setTimeout(180_000)
  await openAt(page, hub, '/setup')
  for (const [id, said] of [
    ['ask', /^approved$/m],
    ['python', /^approved$/m],
    ['go', /^approved: true$/m],
  ] as const) {
    await expect(step(page, id)).not.toHaveAttribute('data-done')
    const run = shell(await command(page, id))
    await expect(step(page, id)).toHaveAttribute('data-done', '', { timeout: 60_000 })
    const pending = (await (await fetch(`${hub.url}/events?status=pending`)).json()) as { id: number }[]
    expect(pending).toHaveLength(1)
    await hub.post(`/events/${pending[0]!.id}/respond`, { permission: true })
    const { code, out } = await run.ended
    expect(code, out).toBe(0)
    expect(out).toMatch(said)
  }
})

test('the commands that only tell work too', async ({ page, hub }) => {
  test.setTimeout(90_000)
  await openAt(page, hub, '/setup')
  for (const id of ['send', 'curl']) {
    const { code, out } = await shell(await command(page, id)).ended
    expect(code, out).toBe(0)
    await expect(step(page, id)).toHaveAttribute('data-done', '', { timeout: 20_000 })
  }
  await page.reload()
  await live(page)
  for (const id of ['send', 'curl']) await expect(step(page, id)).toHaveAttribute('data-done')
  await expect(step(page, 'go')).not.toHaveAttribute('data-done')
})

test('Claude Code’s hook sends what it is piped, whole, and never says a word', async ({ page, hub }) => {
  test.setTimeout(60_000)
  await openAt(page, hub, '/setup')
  const home = await mkdtemp(join(tmpdir(), 'hookback-home-'))
  await mkdir(join(home, '.claude'))
  expect((await shell(await command(page, 'claude'), { home }).ended).code).toBe(0)
  const settings = JSON.parse(await command(page, 'claude', 1)) as {
    hooks: Record<string, { matcher?: string; hooks: { type: string; command: string }[] }[]>
  }
  expect(settings.hooks.PreToolUse?.[0]?.matcher).toBe('*')
  const inputs: Record<string, unknown>[] = [
    {
      session_id: 's-1',
      cwd: '/home/dev/shop "api"',
      hook_event_name: 'PreToolUse',
      tool_name: 'Bash',
      tool_input: { command: `echo '$(id)' "%s \\n" \\\\ ; printf 'ünï\u202e'`, session_id: 'not this one' },
    },
    { session_id: 's-1', hook_event_name: 'Stop', last_assistant_message: 'x'.repeat(200_000) },
  ]
  for (const input of inputs) {
    const name = String(input.hook_event_name)
    const run = settings.hooks[name]?.[0]?.hooks[0]?.command ?? ''
    expect(await shell(run, { home, stdin: JSON.stringify(input) }).ended).toEqual({ code: 0, out: '' })
    const [found] = (await (
      await fetch(`${hub.url}/events?source_app=claude-code&limit=1&hook_event_type=${name}`)
    ).json()) as { id: number }[]
    // Alone it comes whole, however long.
    const stored = (await (await fetch(`${hub.url}/events/${found?.id}`)).json()) as {
      session_id: string
      payload: unknown
    }
    expect(stored.session_id).toBe('s-1')
    expect(JSON.stringify(stored.payload) === JSON.stringify(input), `${name} as it was piped`).toBe(true)
  }
  await expect(step(page, 'claude')).toHaveAttribute('data-done')
  // Without a hub it still keeps quiet.
  await hub.stop()
  const run = settings.hooks.Stop?.[0]?.hooks[0]?.command ?? ''
  expect(await shell(run, { home, stdin: '{}' }).ended).toEqual({ code: 0, out: '' })
  await rm(home, { recursive: true })
})

const samples = fileURLToPath(new URL('../../agentclient/hook/testdata', import.meta.url))
test('the hook takes what Claude Code really sends', async ({ page, hub }) => {
  await openAt(page, hub, '/setup')
  const home = await mkdtemp(join(tmpdir(), 'hookback-home-'))
  await mkdir(join(home, '.claude'))
  await shell(await command(page, 'claude'), { home }).ended
  const files = (await readdir(samples)).filter((f) => f.startsWith('claude-code-'))
  expect(files.length).toBeGreaterThan(0)
  for (const file of files) {
    const input = await readFile(join(samples, file), 'utf8')
    expect(await shell('sh ~/.claude/hookback.sh', { home, stdin: input }).ended).toEqual({
      code: 0,
      out: '',
    })
    const [stored] = (await (await fetch(`${hub.url}/events/recent?limit=1`)).json()) as {
      hook_event_type: string
      session_id: string
      payload: { hook_event_name: string; session_id: string }
    }[]
    expect(stored?.payload, file).toEqual(JSON.parse(input))
    expect([stored?.hook_event_type, stored?.session_id], file).toEqual([
      stored?.payload.hook_event_name,
      stored?.payload.session_id,
    ])
  }
  await rm(home, { recursive: true })
})
