import type { ReplayExample } from '../api/schema'

// The texts of the rules screen, the rule form and the rule parts of a request.

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n.toLocaleString('en')} times`)

const count = (n: number) => n.toLocaleString('en')

const deciders: Record<ReplayExample['decided'], string> = {
  agent: 'the agent',
  policy: 'policy',
  person: 'a person',
  rule: 'a rule',
  grant: 'a person, once',
}

export const rulesText = {
  rule: (id: number) => `rule ${id}`,
  createdBy: 'created by ',
  from: ' from ',
  revoke: 'Revoke',
  confirmRevoke: 'Confirm revoke',

  status: {
    revokedBy: (who: string) => `revoked by ${who}`,
    revoked: 'revoked',
    expired: 'expired',
    left: (left: string) => `${left} left`,
    untilSessionEnds: 'until the session ends',
    untilRevoked: 'until revoked',
    unused: 'not used yet',
    used: (n: number) => `used ${times(n)}`,
  },

  card: {
    allow: 'Always allow…',
    deny: 'Always deny…',
    rule: 'Rule…',
    newRule: 'Make a rule',
    created: (id: number) => `Rule ${id} created.`,
    createAction: 'create rules',
    answered: 'A rule answered this.',
    dontAskAgain: 'Don’t ask again in this session',
    dontAskAgainHint: 'A rule denies exactly this call, with the same reason, until the session ends.',
  },

  /** The rules that allow the harmless calls of a session. */
  allowance: {
    start: 'Allow harmless calls for 15 min',
    title: 'Allow harmless calls of this session for 15 minutes?',
    explain:
      'For 15 minutes, the hub approves this session’s harmless calls in your name. Each answer is recorded and names this allowance.',
    never:
      'You still decide every other call, plans, appeals, questions, votes, requests to certain people, calls that need a passkey, and whatever the agent’s policy asks you about. Freezing the session ends the allowance.',
    applyNow: 'Also approve matching pending requests',
    applyNowHint: 'Otherwise only new requests are approved.',
    confirm: 'Allow for 15 minutes',
    again: 'Start again for 15 minutes',
    cancel: 'Cancel',
    signInTo: 'allow the calls of a session',
    chipHint: (by: string, until: string) =>
      `${by} allowed the harmless calls of this session until ${until}.`,
    left: (left: string) => `Harmless calls allowed: ${left}`,
    end: 'End',
    endOf: ' the allowance of this session',
  },

  blockers: {
    notPermission: 'Only permissions can have a rule.',
    risky: (level: 'High' | 'Critical') => `${level}-risk requests always need a person; rules never apply.`,
    noTool: 'There is no tool call here that a rule could match.',
    plan: 'Every plan needs a person; rules never apply.',
    votes: 'This needs several votes; rules never apply.',
    recipients: 'This is addressed to certain people; rules never apply.',
  },

  form: {
    allowTitle: 'Always allow calls like this',
    denyTitle: 'Always deny calls like this',
    newTitle: 'New rule',
    answers: 'Decision',
    allow: 'Allow',
    deny: 'Deny',
    ask: 'Ask a person',
    target: 'Kept in',
    targets: { hub: 'Hub', file: 'hookback.json' },
    tool: 'Tool',
    toolPlaceholder: 'For example: Bash',
    covers: 'Matching calls',
    scopes: {
      call: { name: 'Exactly this call', note: 'same tool, arguments and directory' },
      when: { name: 'This tool, if…', note: 'all conditions match' },
      tool: { name: 'Every call of this tool', note: 'with any arguments' },
    },
    exact: {
      call: 'A wider rule could allow calls that do more, so only this call can be allowed.',
      command: 'The program runs code that the command names, so only the whole command can be allowed.',
    },
    where: 'Where',
    reaches: {
      session: 'This session',
      project: 'This project',
      agent: 'This agent',
      everywhere: 'Everywhere',
    },
    scratchReaches: { project: 'A project', agent: 'An agent' } as Partial<Record<string, string>>,
    agentName: 'Name of the agent',
    directory: 'Folder of the project',
    directoryPlaceholder: '/home/you/project',
    reachNotes: {
      session: 'Until this session of the agent ends.',
      project: (directory: string) => (directory ? `In ${directory} and below.` : 'In a folder and below.'),
      agent: (agent: string) => `In any directory where ${agent || 'the agent'} works.`,
      everywhere: 'For every agent of this hub.',
    },
    howLong: 'How long',
    durations: { minutes: '15 min', hours: '8 h', unlimited: 'Until I revoke it' },
    message: 'Message to the agent',
    reason: 'Reason',
    reasonPlaceholder: 'For example: The command deletes a folder.',
    messagePlaceholder: 'For example: use the test database instead.',
    preview: 'The rule',
    checking: 'Checking…',
    incomplete: 'Name the tool, and fill in at least one condition.',
    ignored: 'These terms of the filter have no condition:',
    copyCommand: 'Copy command',
    fileHint: 'The hub never writes policy files.',
    applyNow: 'Also apply to matching pending requests',
    applyNowHint: 'Otherwise the rule only answers new requests, and pending ones stay open.',
    create: 'Create rule',
    cancel: 'Cancel',
    comparison: (argument: string) => `How to compare ${argument}`,
    flagValue: (argument: string) => `Value of ${argument}`,
    comparedWith: (argument: string) => `Value to compare ${argument} with`,
    argument: (n: number) => `Argument of condition ${n}`,
    argumentPlaceholder: 'command',
    addCondition: 'Add condition',
    removeCondition: (argument: string) => `Remove the condition on ${argument}`,
    withOption: 'with option',
    optionPlaceholder: 'any, or for example: r, recursive',
    mustNameArgument: 'Name an argument of the tool.',
    mustBeNumber: 'This must be a number.',
    mustNotBeEmpty: 'This must not be empty.',
    comparisons: {
      equals: 'is exactly',
      startsWith: 'starts with',
      under: 'is a path in',
      contains: 'contains',
      glob: 'matches pattern',
      atMost: 'is at most',
      atLeast: 'is at least',
      is: 'is',
      runs: 'runs program',
      regex: 'matches regex',
      greater: 'is greater than',
      less: 'is less than',
    },
  },

  file: {
    title: 'The line for hookback.json',
    file: 'File',
    origins: { user: 'User', project: 'Project' },
    newPath: 'hookback.json',
    newFile: 'new file',
    noneReported: 'No hook has reported a policy file yet, so this shows a new one.',
    unreadable: 'The hub does not have the text of this file.',
    invalid: 'The reported file is not a valid policy, so the command will not change it.',
    run: 'Run the command on the machine of the agent.',
    runInProject: 'Run the command in the folder of the project. Project rules can ask and deny, not allow.',
  },

  backTest: {
    examples: 'Examples',
    opposedBy: 'People decided the opposite',
    by: ' by ',
    open: (id: number) => `Open #${id}`,
    nothing: 'There are no earlier requests to compare with.',
    looked: (n: number) => (n === 1 ? '1 earlier request' : `${n.toLocaleString('en')} earlier requests`),
    noMatch: (looked: string) => `The rule matches none of the ${looked}.`,
    agreed: (n: string) => `${n} same as people decided`,
    opposed: (n: string) => `${n} opposite`,
    undecided: (n: string) => `${n} unanswered`,
    summary: (looked: string, matched: string, parts: string) =>
      `The rule would have answered ${matched} of the ${looked}: ${parts}.`,
    legend: { agreed: 'Same as people decided', opposed: 'Opposite', undecided: 'Unanswered' },
  },

  replay: {
    counts: {
      allow: 'Allowed',
      deny: 'Denied',
      ask: 'Asked',
      opposed: 'Opposed',
    },
    effects: { allow: 'Allow', deny: 'Deny', ask: 'Ask' },
    looked: (n: number, days: number) => {
      const what = n === 1 ? 'tool call' : 'tool calls'
      return n === 0
        ? `No ${what} in the last ${days} days.`
        : `Compared with ${count(n)} ${what} of the last ${days} days.`
    },
    unmatched: (n: number) => (n === 0 ? '' : `${count(n)} ${n === 1 ? 'is' : 'are'} left to the agent.`),
    incomplete: 'There is more history than the hub reads for one replay.',
    show: 'Show only',
    examples: 'Examples',
    limited: 'Only the first 50 are listed, opposed ones first.',
    opposedNote: (n: number) =>
      `A person decided the opposite ${n === 1 ? 'once' : n === 2 ? 'twice' : `${count(n)} times`}.`,
    was: (decided: ReplayExample['decided'], outcome: ReplayExample['outcome']) => {
      const by = deciders[decided]
      if (outcome === 'refused') return `denied by ${by}`
      if (outcome === 'open') return decided === 'person' ? 'a person was asked' : 'not finished'
      const ran = outcome === 'failed' ? 'ran and failed' : 'ran'
      return decided === 'agent' ? `${ran} without you` : `${ran}, approved by ${by}`
    },
  },
}
