// The texts of the screen Policy.

const count = (n: number) => n.toLocaleString('en')

export const policyText = {
  rules: {
    title: 'Rules',
    intro:
      'The first rule that matches decides: your policy file, then the project’s, both as hooks reported them. The rules of the hub answer requests that are left.',
    newRule: 'New rule',
    loading: 'Loading…',
    outdated: ' This list is outdated.',
    tryAgain: 'Try again',
    incomplete: 'There is more history than the hub reads at once, so files can be missing and hits too low.',
    hub: 'Rules of the hub',
    hubNote:
      'They answer on behalf of their author, the narrowest first. High-risk requests always need a person.',
    noHubRules: 'None. Requests that no policy file decides go to people.',
    created: (id: number) => `Rule ${id} created.`,
    ended: (n: number) => `${n} expired or revoked ${n === 1 ? 'rule' : 'rules'}`,
    endedLabel: 'Expired and revoked rules',
    replay: 'Replay',
  },

  file: {
    origins: { user: 'Your policy', project: 'Project' },
    label: (path: string) => `Policy file ${path}`,
    on: (host: string) => `on ${host}`,
    reportedBy: (person: string) => `reported by ${person}`,
    reported: 'reported',
    sessions: (n: number) => `${count(n)} ${n === 1 ? 'session' : 'sessions'} in 30 days`,
    problems: 'This file has a problem',
    place: (line: number, column: number) => `Line ${line}, column ${column}: `,
    noRules: 'This file has no rules.',
    copyCheck: 'Copy check command',
    copyRule: 'Copy',
    effects: { allow: 'Allow', ask: 'Ask', deny: 'Deny' },
    hits: (n: number) => (n === 0 ? 'no calls' : `${count(n)} ${n === 1 ? 'call' : 'calls'}`),
    opposed: (n: number) => `${count(n)} opposed`,
    hitsTitle:
      'Calls of the last 30 days that the rule decides, and those where a person decided the opposite',
  },

  empty: {
    title: 'No rules yet',
    text: 'Every request goes to a person. Start with one of these, or choose “Always allow…” on a request in the ',
    inbox: 'inbox',
    starters: 'Starter rules',
  },

  newRule: {
    start: 'Start from',
    unasked: 'Ran without you',
    recent: 'Recent requests',
    loading: 'Loading the call…',
    failed: 'No rule was proposed.',
    title: 'New rule',
    close: 'Close',
  },

  replay: {
    title: 'Replay',
    intro:
      'The effect of a draft on the last 30 days. Nothing is saved, and the hub never writes policy files.',
    draft: 'Draft',
    kinds: { file: 'Policy file', rule: 'Rule' },
    file: 'File',
    origins: { user: 'User', project: 'Project' },
    newFile: 'New file',
    text: 'Text of the policy',
    reset: 'Reset to the reported text',
    copy: 'Copy text',
    hidden: (n: number) => `Contains ${n === 1 ? 'one invisible character' : `${n} invisible characters`}.`,
    checking: 'Comparing…',
    keep: 'Make this rule…',
    incomplete: 'Name the tool, and fill in at least one condition.',
    line: (n: number) => `Line ${n}`,
    mistake: 'This policy is not valid.',
    warnings: 'Probable mistakes',
    exactCall: 'This rule covers exactly one call, so there is nothing to replay.',
    result: 'Result',
  },

  automatic: {
    title: 'Automatic',
    intro: 'Every answer that a rule of the hub gave.',
    never:
      'High risk is never covered. The hub refuses such a rule: “The call is of high risk: a person must review each one.”',
    loading: 'Loading…',
    empty: 'No automatic answers',
    emptyHint: 'When a rule of the hub answers a request, it appears here.',
    list: 'Automatic answers',
    allowed: 'Allowed',
    denied: 'Denied',
    by: 'by ',
    ended: 'no longer active',
    more: 'Older answers',
  },
}
