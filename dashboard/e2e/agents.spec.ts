// Runs each coding agent's hook: the agent's own input goes into the real command, a person
// answers on the real page, and the output is compared byte by byte.

import type { Page } from '@playwright/test'
import { HookHome, sample, type HookRun, type HookOutput } from './hook-home.ts'
import { choose, detail, expect, openAt, row, test } from './fixtures.ts'

const output = (stdout: unknown): HookOutput => ({
  code: 0,
  stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout),
  stderr: '',
})
const noOutput = output('')
/** A denial for agents that read only the exit code and stderr. */
const blockOutput = (stderr: string): HookOutput => ({ code: 2, stdout: '', stderr: stderr + '\n' })

/** The reason a person gives for a denial, and the text that the agent's model reads. */
const wrote = 'Use "staging" <3'
const reason =
  'A person denied this. Nothing was run. Do not try to achieve the same result another way. The reason given: ' +
  wrote
const gateOutput = (decision: object) =>
  output({ hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } })
const denied = { permissionDecision: 'deny', permissionDecisionReason: reason }

/** The output for an approval and a denial, for agents that only run hooks before a call. */
const gates: { agent: string; sample: string; flags?: string[]; yes: HookOutput; no: HookOutput }[] = [
  { agent: 'codex', sample: 'codex-PreToolUse', yes: noOutput, no: gateOutput(denied) },
  { agent: 'gemini', sample: 'gemini-BeforeTool', yes: noOutput, no: output({ decision: 'deny', reason }) },
  {
    agent: 'cursor',
    sample: 'cursor-beforeShellExecution',
    yes: output({ permission: 'allow' }),
    no: output({ permission: 'deny', user_message: reason, agent_message: reason }),
  },
  {
    agent: 'copilot',
    sample: 'copilot-preToolUse-camelCase',
    flags: ['--event', 'preToolUse'],
    yes: output({ permissionDecision: 'allow' }),
    no: output(denied),
  },
  { agent: 'qwen', sample: 'qwen-PreToolUse', yes: noOutput, no: gateOutput(denied) },
  {
    agent: 'droid',
    sample: 'droid-PreToolUse',
    yes: gateOutput({ permissionDecision: 'allow' }),
    no: gateOutput(denied),
  },
  {
    agent: 'crush',
    sample: 'crush-PreToolUse',
    yes: output({ decision: 'allow' }),
    no: output({ decision: 'deny', reason }),
  },
  {
    agent: 'cline',
    sample: 'cline-PreToolUse',
    yes: noOutput,
    no: output({ cancel: true, errorMessage: reason }),
  },
  { agent: 'windsurf', sample: 'windsurf-pre_run_command', yes: noOutput, no: blockOutput(reason) },
  { agent: 'kiro', sample: 'kiro-preToolUse', yes: noOutput, no: blockOutput(reason) },
  {
    agent: 'antigravity',
    sample: 'antigravity-PreToolUse',
    flags: ['--event', 'PreToolUse'],
    yes: output({ decision: 'allow' }),
    no: output({ decision: 'deny', reason }),
  },
]

/** Approves the request on screen. A risky one is held down until the agent has its answer. */
async function approve(page: Page, { id, ended }: HookRun): Promise<HookOutput> {
  await choose(page, id)
  const button = detail(page, id).getByRole('button', { name: /^Approve/ })
  if (!/hold/.test(await button.innerText())) {
    await button.click()
    return ended
  }
  await button.hover()
  await page.mouse.down()
  const result = await ended
  await page.mouse.up()
  return result
}

async function deny(page: Page, { id, ended }: HookRun): Promise<HookOutput> {
  await choose(page, id)
  await detail(page, id)
    .getByRole('button', { name: /^(Deny|Ask for changes)…/ })
    .click()
  await page.getByLabel(/instead|What should change/).fill(wrote)
  await page.getByLabel(/instead|What should change/).press('Control+Enter')
  return ended
}

test.describe('Coding agents', () => {
  test("sends approvals and denials to every gate hook in its agent's format", async ({ page, hub }) => {
    const home = await HookHome.make(hub, { rules: [{ tool: '*', then: 'ask' }] })
    await openAt(page, hub)
    // The same call in the same session would be a duplicate of an answered question.
    const ask = async ({ agent, flags = [], ...entry }: (typeof gates)[number], session = '') => {
      const text = JSON.stringify(await sample(entry.sample))
      const ids = /("(?:session_?id|conversation_?id|taskId|trajectory_id)":"[^"]*)"/gi
      return home.ask([agent, ...flags], JSON.parse(text.replace(ids, `$1${session}"`)))
    }
    for (const entry of gates) {
      const running = await ask(entry)
      await choose(page, running.id)
      await expect(detail(page, running.id)).toContainText('shop-api')
      expect(await approve(page, running), `${entry.agent}: yes`).toEqual(entry.yes)
    }
    for (const entry of gates)
      expect(await deny(page, await ask(entry, '-2')), `${entry.agent}: no`).toEqual(entry.no)
    await home.remove()
  })

  const decisionOutput = (behavior: string, more: object = {}) =>
    output({ hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior, ...more } } })

  test("answers Claude Code's permission prompt: approve, deny, edit, always allow; its gate hands over to the prompt", async ({
    page,
    hub,
  }) => {
    const home = await HookHome.make(hub)
    const bash = await sample('claude-code-PermissionRequest-Bash')
    const input = bash.tool_input as Record<string, unknown>
    const ask = () => home.ask(['claude-code'], bash)
    await openAt(page, hub)
    let running = await ask()
    await choose(page, running.id)
    await expect(detail(page, running.id)).toContainText('Claude Code')
    await expect(page.getByTestId('open-at-agent')).toContainText('the first answer wins')
    expect(await approve(page, running)).toEqual(decisionOutput('allow'))
    await expect(detail(page, running.id).getByTestId('delivery-steps')).toContainText('delivered')

    expect(await deny(page, await ask())).toEqual(decisionOutput('deny', { message: reason }))

    running = await ask()
    await choose(page, running.id)
    await page.getByLabel(/Always allow Bash\(psql:\*\)/).check()
    const [rule] = bash.permission_suggestions as unknown[]
    expect(await approve(page, running)).toEqual(decisionOutput('allow', { updatedPermissions: [rule] }))

    running = await ask()
    await choose(page, running.id)
    await page.keyboard.press('e')
    await page.getByLabel('command', { exact: true }).fill('psql -c "SELECT 1"')
    expect(await approve(page, running)).toEqual(
      decisionOutput('allow', { updatedInput: { ...input, command: 'psql -c "SELECT 1"' } }),
    )

    const strict = await HookHome.make(hub, { rules: [{ tool: 'Bash', then: 'ask' }] })
    const first = await strict.run(['claude-code'], await sample('claude-code-PreToolUse-Bash')).ended
    const gated = JSON.parse(first.stdout) as { hookSpecificOutput: Record<string, string> }
    expect(gated.hookSpecificOutput).toMatchObject({ permissionDecision: 'ask' })
    expect(gated.hookSpecificOutput.permissionDecisionReason).toContain('hookback.json')
    await home.remove()
    await strict.remove()
  })

  test('answers questions, a plan, an elicitation, and the prompts of Codex and OpenCode', async ({
    page,
    hub,
  }) => {
    const home = await HookHome.make(hub)
    await openAt(page, hub)
    const asked = await sample('claude-code-PermissionRequest-AskUserQuestion')
    let running = await home.ask(['claude-code'], asked)
    await choose(page, running.id)
    await page.keyboard.press('2')
    await page.getByLabel('Seed data').check()
    await page.getByLabel(/^Another answer to: Which extras/).fill('Docs')
    await page.getByRole('button', { name: 'Send 2 answers' }).click()
    const answers = {
      'Which database should the order service use?': 'Postgres',
      'Which extras should I add?': 'Seed data, Docs',
    }
    expect(JSON.parse((await running.ended).stdout)).toEqual(
      JSON.parse(
        decisionOutput('allow', { updatedInput: { ...(asked.tool_input as object), answers } }).stdout,
      ),
    )

    const plan = { ...asked, tool_name: 'ExitPlanMode', tool_input: { plan: '# Move it\n\n1. **Copy** it' } }
    running = await home.ask(['claude-code'], plan)
    await choose(page, running.id)
    await expect(page.getByTestId('plan').locator('strong')).toHaveText('Copy')
    expect(await deny(page, running)).toEqual(decisionOutput('deny', { message: reason }))
    expect(await approve(page, await home.ask(['claude-code'], plan))).toEqual(
      decisionOutput('allow', { updatedInput: plan.tool_input }),
    )

    running = await home.ask(['claude-code'], await sample('claude-code-Elicitation'))
    await choose(page, running.id)
    await page.getByLabel('Answer to: Project key').fill('SHOP')
    await page.getByLabel('Answer to: Project key').press('Control+Enter')
    expect(await running.ended).toEqual(
      output({
        hookSpecificOutput: { hookEventName: 'Elicitation', action: 'accept', content: { project: 'SHOP' } },
      }),
    )

    const codex = async () => home.ask(['codex'], await sample('codex-PermissionRequest'))
    expect(await approve(page, await codex())).toEqual(decisionOutput('allow'))
    expect(await deny(page, await codex())).toEqual(decisionOutput('deny', { message: reason }))

    let calls = 0
    const opencode = async () => {
      const text = JSON.stringify(await sample('opencode-permission.asked'))
      return home.ask(['opencode'], JSON.parse(text.replace(/"callID":"/, `$&${++calls}`)))
    }
    expect(await approve(page, await opencode())).toEqual(output({ reply: 'once' }))
    expect(await deny(page, await opencode())).toEqual(output({ reply: 'reject', message: reason }))
    running = await opencode()
    await choose(page, running.id)
    await page.getByLabel(/Always allow bash\(git commit \*\)/).check()
    expect(await approve(page, running)).toEqual(output({ reply: 'always' }))
    await home.remove()
  })

  test('closes the request of a killed agent or one answered in the terminal, and keeps the draft', async ({
    page,
    hub,
  }) => {
    const home = await HookHome.make(hub)
    const bash = await sample('claude-code-PermissionRequest-Bash')
    await openAt(page, hub)
    const killed = await home.ask(['claude-code'], bash)
    await choose(page, killed.id)
    await page.keyboard.press('d')
    await page.getByLabel(/instead|What should change/).fill('Use the co')
    killed.child.kill('SIGKILL')
    await expect(detail(page, killed.id).getByTestId('settled')).toContainText('The agent is gone')
    await expect(row(page, killed.id)).toContainText('The agent is gone')
    await expect(page.getByLabel(/^Your draft was not sent/)).toHaveValue('Use the co')
    await page.keyboard.type('py') // further typing has no effect
    await expect(detail(page, killed.id)).toBeVisible()

    const raced = await home.ask(['claude-code'], bash)
    await choose(page, raced.id)
    await page.keyboard.press('e')
    await page.getByLabel('command', { exact: true }).fill('psql -c "SELECT 2"')
    const ran = { ...bash, hook_event_name: 'PostToolUse', tool_use_id: 'toolu_1', tool_response: 'ok' }
    expect(await home.run(['claude-code'], ran).ended).toEqual(noOutput)
    await expect(detail(page, raced.id).getByTestId('settled')).toContainText('Answered in the terminal')
    await expect(page.getByLabel(/^Your draft was not sent/)).toHaveValue('command: psql -c "SELECT 2"')
    expect(await raced.ended).toEqual(noOutput)
    await home.remove()
  })
})
