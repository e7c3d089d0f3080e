const plural = (n: number, one: string, many = one + 's') => (n === 1 ? one : many)

/** User-visible strings of the overview. */
export const text = {
  title: 'Reports',
  upTo: (time: string) => `Up to ${time}, in your time zone`,
  intro: 'How people and agents do',
  days: 'Days',
  dayOption: (n: number) => (n === 1 ? 'Today' : `${n} days`),
  outdated: ' The data below is older.',
  retry: 'Try again',
  loading: 'Loading …',
  rangeNote: (days: number) => `The figures below cover the last ${days === 1 ? 'day' : `${days} days`}.`,
  since: (at: string) => `since the quarter-hour of ${at}`,
  within: (days: number) => (days === 1 ? 'today' : `in ${days} days`),
  empty: 'No data yet',
  emptyHint: (within: string) => `No agent was active ${within}.`,
  connect: 'Connect one',
  connectHint: 'to see its work here.',
  notDelivered: 'Not delivered',
  answered: (within: string) => `Answered ${within}`,
  median: 'Median time to answer',
  p95: '95 % answered within',
}

export const outcomeText = {
  title: 'Outcomes',
  label: 'Outcomes by day',
  day: 'Day',
  note: (n: string, within: string) => `${n} ${within}`,
  names: {
    approved: 'Approved',
    answered: 'Answered',
    denied: 'Denied',
    timeout: 'No answer',
    dismissed: 'Dismissed in the agent',
    gone: 'The agent was gone',
    cancelled: 'Canceled',
    other: 'Other',
  },
}

export const latencyText = {
  title: 'Time to answer',
  label: 'Answers by time to answer',
  note: (n: number, formatted: string) => `${formatted} human ${plural(n, 'answer')}, on a logarithmic scale`,
  time: 'Time',
  answers: 'Answers',
  under: (duration: string) => `under ${duration}`,
  over: (duration: string) => `over ${duration}`,
  between: (from: string, to: string) => `${from} to ${to}`,
}

export const toolText = {
  title: 'Tools',
  note: 'Finished calls, without the time spent waiting for a person',
  columns: ['Tool', 'Calls', 'Failures', 'Median', '95 %', 'Total'],
  succeeded: 'Succeeded',
  failed: 'Failed',
  value: (calls: string, median: string) => `${calls} × ${median}`,
  tip: (tool: { calls: string; failures: string; median: string; p95: string }) =>
    `${tool.calls} calls, ${tool.failures} failed, median ${tool.median}, 95 % within ${tool.p95}`,
}

export const blockedText = {
  title: 'Blocked by people',
  note: 'How long agents waited for answers to settled requests',
  columns: ['Agent', 'Waited', 'Requests', 'Need you now'],
  waited: 'Waited',
  tip: (duration: string, n: number, formatted: string) =>
    `waited ${duration} for ${formatted} ${plural(n, 'request')}`,
}

export const spendText = {
  title: 'Cost',
  label: 'Cost by day',
  note: (total: string, within: string) => `${total} ${within}, as agents reported it`,
  month: (spent: string) => `${spent} this month`,
  forecast: (total: string) => `, ${total} by its end at the same pace (straight-line forecast)`,
  tokensOnly: 'Agents reported no cost. The chart shows tokens.',
  by: 'By',
  groups: { model: 'Model', app: 'Agent', project: 'Project', person: 'Person' },
  day: 'Day',
  input: 'Tokens in',
  output: 'Tokens out',
  cached: 'Cache',
  cost: 'Cost',
  unknown: 'Unknown',
  others: 'Others',
  csv: 'Download as CSV',
}

export const agentText = {
  title: 'Agent activity',
  region: 'Agent activity, the table',
  columns: {
    agent: 'Agent',
    state: 'State',
    counts: ['Sessions', 'Events', 'Tool calls', 'Failures', 'Requests', 'Blocked'],
    tokens: 'Tokens',
    cost: 'Cost',
    lastSeen: 'Last seen',
  },
  tokens: (t: { input: string; output: string; cacheRead: string; cacheWrite: string }) =>
    `${t.input} in, ${t.output} out, ${t.cacheRead} read from and ${t.cacheWrite} written to the cache`,
}

export const chartText = {
  chart: 'Chart',
  table: 'Table',
  asTable: (title: string) => `${title} as a table`,
  tableOf: (title: string) => `${title}, the table`,
  readWithArrows: (label: string) => `${label}, read with the arrow keys`,
  none: 'None',
  summary: (name: string, parts: string) => `${name}: ${parts || 'none'}`,
  more: (n: number) => `and ${n} more, in the table`,
}

export const unaskedText = {
  title: 'Without you',
  ran: (n: string) => `${n} ran`,
  risky: (n: string) => `${n} risky`,
  refused: (n: string) => `${n} refused by reviewers`,
  appealed: (n: string) => `${n} appealed`,
  denied: (n: string) => `${n} denied by policy`,
  newRule: 'Make a rule',
  note: 'so that a person is asked next time.',
  incomplete: 'Older calls are still being counted.',
}
