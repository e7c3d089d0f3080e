/** User-visible strings of Settings, Agents. Commands are in agentCommands.ts. */
export const text = {
  title: 'Connect your agents',
  listensAt: 'This hub listens at',
  turnsGreen: 'Each step turns green when its first event arrives.',
  steps: 'Steps',
  done: 'done:',
  received: (ago: string) => `received ${ago} ago`,
  waiting: 'waiting for first event …',
  testTitle: 'Send a test request',
  testIntro: 'A request appears in the inbox, you answer it, and the answer goes back to the agent.',
  test: 'Send a test request',
  testResult: (approved: boolean) => `You ${approved ? 'approved' : 'denied'} it. That is the whole loop.`,
  answerTest: 'Answer it in the inbox',
  testFailed: 'No test request was sent:',
  testElsewhere: 'another site opened this address. Use the button in Settings, Agents.',
  close: 'Close',
  askTitle: 'Install the command',
  askIntro:
    'Agents and scripts need only this one small program. Try it: it waits for your answer here, and exits with 0 if you approve and 1 if you deny.',
  install: '1. Install',
  inRepository: 'in the repository',
  try: '2. Try it',
  troubleshooting: (hub: string) => [
    'Run it in the directory of the Hookback repository, with Go installed.',
    'If the shell does not find hookback, run export PATH="$PATH:$(go env GOPATH)/bin"',
    `The hub must be reachable at ${hub} from where you run it: curl ${hub}/healthz prints “ok”.`,
    'hookback help lists its other commands.',
  ],
  programs: 'To ask from curl, Python, TypeScript or Go, see the',
  docs: 'documentation',
  agentsTitle: 'Coding agents',
  agentsIntro:
    'One command per agent. Its permission prompts and questions appear here, and its tool calls under Events. Each agent turns green when its first event arrives.',
  nothingArrives: 'No events?',
  nextSteps: 'Choose how this page alerts you in',
  settings: 'Settings',
  nextStepsReports: 'See how your agents do over time in the',
  overview: 'reports',
}

/** The list of coding agents, with the commands around it. */
export const agentText = {
  connectAll: 'All agents on this machine',
  importName: 'Import earlier sessions',
  importLabel: 'Claude Code sessions of the last 30 days',
  connectAllName: 'Connect your agents',
  waiting: 'waiting for first event …',
  received: (ago: string) => `received ${ago} ago`,
  provenOn: (version: string) => `proven on ${version}`,
  notProven: 'From their documentation, not proven',
  intro: 'The command adds its own entries to that file and changes nothing else.',
  scopeHint: 'uses the project’s file instead,',
  observeHint: 'only reports events,',
  enforceHint:
    'also blocks tool calls while the hookback program is missing (Claude Code, Cursor, Gemini CLI, Copilot CLI),',
  unknownEvent:
    'It sent a tool call under a name that its hook does not know. Your policy and freezes apply to it, but update hookback.',
  wakeHint:
    'lets a message wake an idle session of Claude Code, which tells the model that it is feedback of a hook and not input of its user,',
  dryRunHint: 'shows the changes, and',
  uninstallHint: 'removes the entries.',
  policy: 'Policy',
  policyHint: 'Which tool calls need approval, whatever the agent’s own rules are',
  inDocs: 'In the documentation:',
  http: 'Claude Code without installing anything',
  usage: 'tokens and cost',
  trouble: 'no events, or no requests',
}

/** The next step for some agents, once their hooks are installed. */
export const afterInstall: Record<string, string> = {
  'claude-code':
    'Start a new session: it reads its settings when it starts. Claude Code starts in auto mode: it asks rarely. Calls it refuses become appeals. Run hookback policy init to choose calls that always ask.',
  codex: 'Open /hooks in Codex and trust the new hooks. Until then it runs none.',
  gemini: 'It still shows its own prompts for calls it would ask about anyway.',
  opencode: 'Restart OpenCode: it loads plugins when it starts.',
  droid: 'Restart Droid and review the changed hooks in /hooks.',
  crush: 'It reports calls before they run, and nothing else.',
  cline: 'In the editor extension, enable hooks: Settings, Features, Enable Hooks.',
  kiro: 'Hooks belong to custom agents. Run the command again after you add an agent.',
}
