// How each coding agent is wired, for a hub at an address: what hookback install does,
// and what its user has to do after it.

import { codingAgent, type CodingAgent } from '../codingAgents'

export interface AgentCommand {
  agent: CodingAgent
  /** The line that wires it. */
  command: string
  /** Which file that writes to, as a rule. */
  file: string
  /** What its user has to do or know after. */
  after?: string
}

/** Its name on the command line where it isn't its id, its file, what to do after. */
const wired: [id: string, file: string, after?: string][] = [
  ['claude-code', '~/.claude/settings.json', 'Begin a new session: it reads its settings when it starts.'],
  ['codex', '~/.codex/hooks.json', 'Open /hooks in Codex and trust the new hooks: before that it runs none.'],
  ['gemini', '~/.gemini/settings.json', 'It also asks in its own way for what it would ask for anyway.'],
  ['cursor', '~/.cursor/hooks.json'],
  ['copilot', '~/.copilot/hooks/hookback.json'],
  [
    'opencode',
    '~/.config/opencode/plugin/hookback.js',
    'Start OpenCode again: it loads plugins when it starts.',
  ],
  ['qwen', '~/.qwen/settings.json'],
  ['droid', '~/.factory/hooks.json', 'Start Droid again, and review the changed hooks in /hooks.'],
  ['crush', '~/.config/crush/crush.json', 'It tells of calls before they run, of nothing else.'],
  ['cline', '~/Documents/Cline/Hooks/', 'Enable hooks in its settings: Features, Enable Hooks.'],
  ['windsurf', '~/.codeium/windsurf/hooks.json'],
  ['kiro', '~/.kiro/agents/*.json', 'Hooks belong to custom agents: run it again for agents made later.'],
  ['antigravity', '~/.gemini/config/hooks.json'],
]

/** The address as commands need it: in front of them, unless it is the usual one. */
export const hubEnvPrefix = (hub: string): string =>
  ['http://127.0.0.1:4000', 'http://localhost:4000'].includes(hub) ? '' : `HOOKBACK_URL='${hub}' `

/** The same as a flag, shorter: install takes an address without its scheme, too. */
const hubFlag = (hub: string): string =>
  hubEnvPrefix(hub) === '' ? '' : ` --hub ${hub.replace(/^http:\/\//, '')}`

export const agentCommands = (hub: string): AgentCommand[] =>
  wired.map(([id, file, after]) => ({
    agent: codingAgent(id),
    command: `hookback install --agent ${id === 'claude-code' ? 'claude' : id}${hubFlag(hub)}`,
    file,
    ...(after ? { after } : {}),
  }))

/** What Claude Code tells over HTTP, beside what it asks. */
const WATCHED = [
  'UserPromptSubmit',
  'PreToolUse',
  'PostToolUse',
  'PostToolUseFailure',
  'PermissionDenied',
  'Notification',
  'SubagentStart',
  'SubagentStop',
  'PreCompact',
  'Stop',
  'StopFailure',
  'SessionEnd',
]

/** Claude Code's settings for hooks over HTTP: nothing needs to be installed. */
export function httpHookSettings(hub: string): string {
  const asks = (limit: number) =>
    `{"type": "http", "url": "${hub}/hooks/claude-code?limit=${limit}", "timeout": ${limit}}`
  const tells = `{"type": "http", "url": "${hub}/hooks/claude-code"}`
  const line = (name: string, hook: string) => `    "${name}": [{"hooks": [${hook}]}]`
  const lines = [
    line('PermissionRequest', asks(3600)),
    line('Elicitation', asks(120)), // its user sees nothing else meanwhile
    ...WATCHED.map((name) => line(name, tells)),
  ]
  return `{\n  "hooks": {\n${lines.join(',\n')}\n  }\n}`
}

/** What makes Claude Code tell tokens and cost as well. */
export const telemetryEnv = (hub: string): string =>
  [
    'export CLAUDE_CODE_ENABLE_TELEMETRY=1',
    'export OTEL_LOGS_EXPORTER=otlp OTEL_METRICS_EXPORTER=otlp',
    'export OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${hub}`,
  ].join('\n')

const HEARD = 'hookback.setup.heard'

/** When each agent was heard of on this page, ms: a tick stays when its event has left the page. */
export function loadLastSeen(): Record<string, number> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(HEARD) ?? '{}')
    return Object.fromEntries(
      Object.entries(kept as object).filter((e): e is [string, number] => typeof e[1] === 'number'),
    )
  } catch {
    return {}
  }
}

export function saveLastSeen(heard: Record<string, number>): void {
  try {
    localStorage.setItem(HEARD, JSON.stringify(heard))
  } catch {
    // The ticks live as long as the page then.
  }
}
