// The texts of the screen Policy.

const count = (n: number) => n.toLocaleString('en')

export const policyText = {
  rules: {
    title: 'Policy',
    intro:
      'The first rule that matches decides: your policy file, then the project’s, both as hooks reported them. The rules of the hub answer requests that are left.',
    newRule: 'New rule',
    answers: 'Answers of rules',
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
    replay: 'Replay',
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
    noSuchRule: 'There is no such rule, or it covers exactly one call.',
    title: 'New rule',
    close: 'Close',
  },
}
