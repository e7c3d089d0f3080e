/** User-visible strings of Settings, Agents. Commands and sample programs are in steps.ts and agentCommands.ts. */
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
  httpSummary: 'Claude Code without installing anything',
  httpIntro: 'Its hooks can use HTTP: you answer its prompts and questions here, and it reports its events.',
  httpCovered: 'Covered while the hub is reachable',
  httpCovers: 'Permission prompts, questions, events, and freezes.',
  httpNotCovered: 'Not covered',
  httpGaps: [
    'A policy in hookback.json: these hooks read no file.',
    'A hub that is unreachable: calls that Claude Code would not ask about then run, also during a freeze.',
    'The mode enforce: it blocks calls only where the hookback program is installed.',
  ],
  httpEnforce: 'Applies the policy without the hub, too, and blocks calls if the program is missing',
  httpEnforceName: 'Enforce for Claude Code',
  httpName: 'Claude Code over HTTP',
  settingsFile: 'Settings',
  intoSettingsFile: 'in ~/.claude/settings.json',
  usageSummary: 'Tokens and cost of Claude Code',
  telemetry: 'Telemetry',
  beforeStart: 'Before it starts',
  inItsShell: 'in its shell',
  statusLine: 'Status line',
  statusLineHint: 'Or with its status line',
  troubleSummary: 'No events, or no requests?',
  doctor: 'Doctor',
  doctorHint: 'Checks that events arrive and that the policy is enforced, and reports problems',
  pathHint: 'If the shell does not find hookback, run',
  troubleshooting: [
    'Most agents read their hooks when they start. Start a new session.',
    'While the hub is unreachable, or no one has this page open, the agent’s own prompt decides.',
  ],
  hookLog: 'Hooks log their errors in',
  hookLogOn: '(on Linux).',
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

/** Titles, descriptions, and troubleshooting of the setup steps. */
export const stepText = {
  repository: 'Run it in the directory of the Hookback repository, with Go installed.',
  reachable: (hub: string) =>
    `The hub must be reachable at ${hub} from where you run it: curl ${hub}/healthz prints “ok”.`,
  path: 'If the shell does not find hookback, run export PATH="$PATH:$(go env GOPATH)/bin"',
  inTerminal: 'In a terminal',
  ask: {
    title: 'Install the command',
    text: 'Agents and scripts need only this one small program. Try it: it waits for your answer here, and exits with 0 if you approve and 1 if you deny.',
    install: '1. Install',
    inRepository: 'in the repository',
    try: '2. Try it',
    help: 'hookback help lists its other commands.',
  },
  send: { title: 'Send an event', text: 'An event without a question appears under Events.' },
  curl: {
    title: 'curl',
    text: 'A question is one POST request. The hub stores the answer until it is fetched.',
    problem: 'If the hub rejects a request, the JSON of its response explains why.',
  },
  python: {
    title: 'Python',
    text: 'Uses only the standard library: it asks, waits, and prints your decision.',
    version: 'It requires Python 3.',
  },
  go: {
    title: 'Go',
    text: 'With the client library, the hub sends the answer immediately and proves its identity.',
  },
}
