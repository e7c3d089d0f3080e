// The commands that connect each coding agent to the hub at a given address.

import { codingAgent, type CodingAgent } from '../../lib/format/codingAgents'
import { readStored, store } from '../../lib/page/stored'
import type { Event } from '../../lib/api/types'
import { provenVersions } from './provenVersions'
import { afterInstall } from './text'

export interface AgentCommand {
  agent: CodingAgent
  /** The command that installs the hooks. */
  command: string
  /** The file that it usually changes. */
  file: string
  /** The last version whose tests with the real program passed; unset if no test runs the agent. */
  proven?: string
  /** The next step for the user. */
  after?: string
}

/** The default settings file of each agent, by its id. */
const settingsFiles: [id: string, file: string][] = [
  ['claude-code', '~/.claude/settings.json'],
  ['codex', '~/.codex/hooks.json'],
  ['gemini', '~/.gemini/settings.json'],
  ['cursor', '~/.cursor/hooks.json'],
  ['copilot', '~/.copilot/hooks/hookback.json'],
  ['opencode', '~/.config/opencode/plugin/hookback.js'],
  ['qwen', '~/.qwen/settings.json'],
  ['droid', '~/.factory/hooks.json'],
  ['crush', '~/.config/crush/crush.json'],
  ['cline', '~/Documents/Cline/Hooks/'],
  ['windsurf', '~/.codeium/windsurf/hooks.json'],
  ['kiro', '~/.kiro/agents/*.json'],
  ['antigravity', '~/.gemini/config/hooks.json'],
]

/** The variable assignment that precedes commands; empty for the default address. */
export const hubEnvPrefix = (hub: string): string =>
  ['http://127.0.0.1:4000', 'http://localhost:4000'].includes(hub) ? '' : `HOOKBACK_URL='${hub}' `

/** The same as a flag of hookback install, which accepts an address without its scheme. */
const hubFlag = (hub: string): string =>
  hubEnvPrefix(hub) === '' ? '' : ` --hub ${hub.replace(/^http:\/\//, '')}`

export const agentCommands = (hub: string): AgentCommand[] =>
  settingsFiles.map(([id, file]) => ({
    agent: codingAgent(id),
    command: `hookback install --agent ${id === 'claude-code' ? 'claude' : id}${hubFlag(hub)}`,
    file,
    ...(provenVersions[id] ? { proven: provenVersions[id] } : {}),
    ...(afterInstall[id] ? { after: afterInstall[id] } : {}),
  }))

/** Reports whether the hook took an event that it does not know for a call that is about to run. */
export const hasUnknownEvent = (event: Event): boolean =>
  (event as { hook?: { unknownEvent?: boolean } }).hook?.unknownEvent === true

const STORAGE_KEY = 'hookback.setup.heard'

/** When each agent's newest event arrived, in ms. It outlives the events in memory. */
export const loadLastSeen = () => (readStored(STORAGE_KEY) ?? {}) as Record<string, number>

export const saveLastSeen = (lastSeen: Record<string, number>): void => store(STORAGE_KEY, lastSeen)
