import type { Page } from '@playwright/test'
import type { Agent } from './agent.ts'
import { test as base } from './fixtures.ts'
import type { HubProcess } from './hub.ts'
import { callApi, claimHub } from './people.ts'

/** The page of the owner: only signed-in people create rules. */
export const test = base.extend({
  page: async ({ page, hub }, use) => {
    await claimHub(page, hub)
    await use(page)
  },
})

export const userPath = '/home/dev/.config/hookback/hookback.json'
export const userText = `{
  "rules": [
    {"tool": "Bash", "when": {"command": {"runs": "git push"}}, "then": "ask"},
    {"tool": "Bash", "when": {"command": {"glob": "npm test*"}}, "then": "allow"}
  ]
}
`

/** Asks about a command as an agent's process. */
export const ask = (agent: Agent, hub: HubProcess, command: string, more = {}) =>
  agent.ask(hub.fromOtherProcess(), {
    question: 'Run a shell command',
    toolCall: { name: 'Bash', arguments: { command } },
    context: { cwd: '/home/dev/app' },
    ...more,
  })

/** Answers a request as the person of the page. */
export const answer = (page: Page, id: number, permission: boolean, reason?: string) =>
  callApi(page, 'POST', `/events/${id}/respond`, { permission, ...(reason && { reason }) })

/** Reports the policy files of a session, as a hook does. */
export const report = (hub: HubProcess, files: object[]) =>
  hub.event('HookbackPolicy', {
    hash: 'a'.repeat(64),
    host: 'dev-laptop',
    cwd: '/home/dev/app',
    files,
  })

export const userFile = { origin: 'user', path: userPath, sha256: 'b'.repeat(64), text: userText }

/** A tool call that ran without a person. */
export async function runUnasked(hub: HubProcess, command: string, id: string): Promise<number> {
  const payload = { tool_name: 'Bash', tool_input: { command }, tool_use_id: id, cwd: '/home/dev/app' }
  const extra = { tool_name: 'Bash' }
  const start = await hub.event('PreToolUse', payload, extra)
  await hub.event('PostToolUse', payload, extra)
  return start
}
