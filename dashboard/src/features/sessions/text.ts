/** User-visible strings of sessions. */
export const text = {
  sessions: 'Sessions',
  allSessions: 'All sessions',
  allSessionsHint: 'All sessions (Esc)',
  session: (id: string) => `Session ${id}`,
  loading: 'Loading …',
  retry: 'Try again',
  notFound: 'Session not found',
  notFoundHint: 'It may have been deleted with old events.',
  share: (measure: string) => `Share of the ${measure}`,
}

/** "1 call", "12 calls" */
export const formatCount = (n: number, one: string, many = one + 's'): string =>
  `${n.toLocaleString('en')} ${n === 1 ? one : many}`

/** The list of sessions. */
export const listText = {
  search: 'Search sessions',
  searchPlaceholder: 'Search prompt, directory, id, transcript',
  clearSearch: 'Clear search',
  agent: 'Agent',
  allAgents: 'All agents',
  person: 'Person',
  everyone: 'Everyone',
  older: 'Load older sessions',
  count: (n: number) => (n === 1 ? 'The only session' : `All ${n.toLocaleString('en')} sessions`),
  failed: 'Sessions could not be loaded',
  noMatch: 'No matching sessions',
  noMatchHint: 'No prompt, directory, id, or transcript matches.',
  showAll: 'Show all sessions',
  empty: 'No sessions yet',
  emptyHint:
    'A session appears with the first event of an agent. It shows prompts, tool calls, and the time spent waiting for you.',
  connect: 'Connect an agent',
  calls: (n: number) => formatCount(n, 'call'),
  events: (n: number) => formatCount(n, 'event'),
  failures: (n: number) => `✕ ${n.toLocaleString('en')} failed`,
  toAnswer: (n: number) => `${n} to answer`,
  requests: (n: number) => formatCount(n, 'request'),
  waited: (duration: string) => `waited ${duration}`,
  tokensHint: 'Tokens read (without the cache) and written',
  tokens: (n: string) => `${n} tokens`,
}

/** The sources of the name of a person. */
export const personHints = {
  token: 'Ran it: owner of the token that sent the events',
  email: 'Ran it, as reported by the agent’s telemetry (not verified)',
  os: 'Ran it: account of the agent’s process, as reported by its hook (not verified)',
}
export const reported = 'reported'

/** The header of a session. */
export const headText = {
  imported: 'Imported',
  importedHint: 'Known only from its transcript (hookback import)',
  link: 'Link',
  workingDirectory: 'Working directory',
  branch: 'Branch',
  moreModels: (n: number) => `+ ${n}`,
  otherModels: 'others',
  modelUsage: (model: string, usage: string) => `${model}: ${usage}`,
  tokensOut: (n: string) => `${n} out`,
  runTimeHint: (start: string) => `Since ${start}, without the time spent waiting for a person`,
  worked: (duration: string) => `worked ${duration}`,
  calls: (n: number) => formatCount(n, 'call'),
  failures: (n: number) => `✕ ${n} failed`,
  subagents: (n: number) => formatCount(n, 'subagent'),
  tokensHint: 'Tokens read (without the cache) and written',
  tokens: (input: string, output: string) => `${input} in, ${output} out`,
  costHint: 'As reported by the agent',
  startedBy: 'started by session',
  share: 'Share',
  export: 'Export',
  markdownHint: 'to read and share',
  ndjsonHint: 'every event, one per line',
}

/** The dialog that shares a session. */
export const shareText = {
  title: 'Share this session',
  intro:
    'Anyone with the link sees exactly this session, read-only and without signing in: prompts, tool calls with their outcomes, and changed files.',
  lifetime: 'Works for',
  lifetimes: [
    [1, '1 hour'],
    [24, '1 day'],
    [168, '7 days'],
  ] as const,
  transcript: 'With transcript',
  transcriptHint: 'the whole conversation, if the agent sent it',
  create: 'Create link',
  created: 'Share link',
  copyLink: 'Copy the link',
  once: 'Send it now: the hub stores only its hash, and it is not shown again.',
  links: 'Links to this session',
  none: 'No one else can see this session.',
  signInTo: 'share sessions',
  viewer: 'Viewers cannot share sessions.',
}

/** The page of a share link. */
export const sharedText = {
  title: (session: string) => `Shared session ${session}`,
  region: 'Shared session',
  sharedBy: 'Shared by',
  readOnly: 'read-only',
  endsIn: (interval: string) => `ends in ${interval}`,
  refresh: 'Refresh',
  loading: 'Loading …',
  retry: 'Try again',
  ended: 'This link has ended',
  endedHint:
    'Links to a session work for a limited time and can be revoked. Ask the person who shared it for a new one.',
  incomplete: 'This link is incomplete',
  incompleteHint: 'Open the whole link again. Its last part, after the #, is missing.',
  failed: 'The session could not be loaded',
}

/** The tabs and controls of a session. */
export const viewText = {
  show: 'Show',
  tabs: {
    timeline: 'Timeline',
    transcript: 'Transcript',
    files: 'Files',
    agents: 'Agents',
    tools: 'Tools',
  },
  eventsLoaded: 'Events loaded',
  progress: (loaded: number, total: number | undefined) =>
    total === undefined
      ? `${loaded.toLocaleString('en')} events`
      : `${loaded.toLocaleString('en')} of ${total.toLocaleString('en')} events`,
  follow: 'Follow',
  event: 'Event of the session',
  noTranscript: 'No transcript',
  noTranscriptHint: 'An agent can send its conversation with an event, in the member',
  noTranscriptNext: 'The newest one is shown here.',
  emptyTranscript: 'This event has no transcript.',
}

/** The messages to a session. */
export const messageText = {
  title: 'Message to the agent',
  open: 'Message the agent',
  what: 'message the agent',
  placeholder: 'The model reads this at its next step',
  hint: 'Enter sends, Shift+Enter starts a new line. A message is not an approval.',
  send: 'Send',
  sendAgain: 'Send again',
  withdraw: 'Withdraw',
  viewer: 'Viewers cannot message agents.',
  state: {
    saved: 'saved',
    handed_over: 'handed over',
    acted_on: 'acted on',
    expired: 'expired',
    withdrawn: 'withdrawn',
  },
  stateHint: {
    saved: 'The next hook of the session hands it over. An idle session reads it with the next prompt.',
    handed_over: 'The hub gave it to a hook of the session.',
    acted_on: 'The agent took another step after it.',
    expired: 'The session ended first.',
    withdrawn: 'It was withdrawn before it was handed over.',
  },
  unsupported: {
    ended: 'This session has ended, so it receives no messages.',
    agent:
      'This agent cannot receive messages: only the hooks of Claude Code, Codex, Gemini CLI and Qwen Code hand them to the model.',
  },
}

/** The lanes, the table of bars, and the turns. */
export const timelineText = {
  lanes: 'Lanes',
  lanesHint: 'Lanes of the session. Arrow keys move between bars, plus and minus zoom, Enter opens.',
  worked: (duration: string) => `worked ${duration}`,
  waitedOf: (waited: string, total: string) => `waiting for a person: ${waited} of ${total}`,
  noWait: (total: string) => `${total}, no waiting for a person`,
  zoom: 'Zoom',
  zoomOut: 'Zoom out',
  zoomIn: 'Zoom in',
  showAll: 'Show everything',
  withKey: (label: string, key: string) => `${label} (${key})`,
  nothingSelected: 'Nothing selected',
  waited: (duration: string) => `waited ${duration}`,
  waitedForPerson: (duration: string) => `waited ${duration} for a person`,
  toolWaited: (tool: string, duration: string) => `${tool}: waited ${duration}`,
  startUnknown: 'start unknown',
  done: 'done',
  turns: 'Session activity by turn',
  beforeFirstPrompt: 'Before the first prompt',
  prompt: 'Prompt',
  calls: (n: number) => formatCount(n, 'call'),
  failures: (n: number) => `${n} failed`,
  tool: 'Tool',
  backgroundTask: 'Background task',
  needsYou: 'needs you',
  states: {
    running: 'running',
    failed: 'failed',
    denied: 'denied',
    unanswered: 'no answer',
    lost: 'end unknown',
  },
}

/** The agents of a session. */
export const agentsText = {
  region: 'Table of the agents',
  columns: {
    agent: 'Agent',
    state: 'State',
    model: 'Model',
    calls: 'Calls',
    failed: 'Failed',
    waited: 'Waited',
    tokens: 'Tokens',
    cost: 'Cost',
    time: 'Time',
  },
  mainAgent: 'Main agent',
  level: (depth: number) => `, level ${depth}, started by`,
  tokens: (input: string, output: string, cached: string) =>
    `${input} in, ${output} out, ${cached} from the cache`,
  unlisted: (n: number) =>
    `${formatCount(n, 'more subagent')} ${n === 1 ? 'is' : 'are'} counted but not listed.`,
  note: (measure: string) =>
    `Figures of an agent exclude its subagents. The bar is its share of the ${measure}.`,
  telemetryHint: 'Tokens and cost per agent require the agent’s telemetry:',
  setup: 'Settings, Agents',
}

/** The tools and models of a session. */
export const toolsText = {
  tokensAndCost: 'Tokens and cost',
  read: 'Read',
  written: 'Written',
  readFromCache: 'Read from cache',
  writtenToCache: 'Written to cache',
  reportedCost: 'Cost, as reported by the agent',
  modelsRegion: 'Table of the models',
  model: 'Model',
  requests: 'Requests',
  fromCache: 'From cache',
  cost: 'Cost',
  measures: { cost: 'cost', tokens: 'tokens', time: 'time' },
  otherModels: 'others',
  perRequest: (duration: string) => `${duration} each`,
  title: 'Tools',
  empty: 'No finished calls yet.',
  region: 'Table of the tools',
  columns: ['Tool', 'Calls', 'Failed', 'Median', 'p95', 'Total'],
  note: 'Without the time spent waiting for a person. Median and p95 are within 5 %.',
}

export const riskText = {
  risky: (n: number) => `${n} risky ${n === 1 ? 'call' : 'calls'}`,
  refused: (n: number) => `${n} refused`,
  newRule: 'Make a rule',
}

/** Strings of the files that a session changed. */
export const filesText = {
  none: 'No tool call has changed a file.',
  hint: 'Changes by tools that edit files and by patches. Commands can change other files.',
  changes: { edited: 'edited', written: 'written', deleted: 'deleted' },
  noDiff: 'The calls have no text to compare.',
  older: (n: number) => `${formatCount(n, 'older call')} not shown`,
  more: (n: number) => `and ${formatCount(n, 'further file')}`,
}
