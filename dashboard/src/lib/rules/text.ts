// The texts of the rules screen, the rule form and the rule parts of a request.

const times = (n: number) => (n === 1 ? 'once' : n === 2 ? 'twice' : `${n.toLocaleString('en')} times`)

export const rulesText = {
  title: 'Rules',
  intro:
    'Rules answer on behalf of their author. They never answer high-risk requests or requests that require several votes. Every answer of a rule is in the audit log.',
  loading: 'Loading…',
  outdated: ' This list is outdated.',
  tryAgain: 'Try again',
  empty: 'No rules yet',
  emptyHint: [
    'Every request goes to a person. To create a rule, choose “Always allow…” or “Always deny…” on a permission in the ',
    'inbox',
    '.',
  ],
  active: 'Active rules',
  ended: (n: number) => `${n} expired or revoked ${n === 1 ? 'rule' : 'rules'}`,
  endedLabel: 'Expired and revoked rules',
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
    created: (id: number) => `Rule ${id} created.`,
    createAction: 'create rules',
    notLoaded: 'This did not load. The hub may be offline, or newer than this page.',
    answered: 'A rule answered this.',
    dontAskAgain: 'Don’t ask again in this session',
    dontAskAgainHint: 'A rule denies exactly this call, with the same reason, until the session ends.',
  },

  /** The rules that allow the harmless calls of a session. */
  allowance: {
    start: 'Allow harmless calls for 15 min',
    title: 'Allow harmless calls of this session for 15 minutes?',
    explain:
      'For 15 minutes, the hub approves this session’s calls that it knows to be harmless, and those it knows nothing about, in your name. Each answer is recorded and names this allowance.',
    never:
      'You still decide calls of medium risk and above, calls with a finding, plans, appeals, questions, votes, requests to certain people, calls that need a passkey, and whatever the agent’s policy asks you about. Freezing the session ends the allowance.',
    applyNow: 'Also approve matching pending requests',
    applyNowHint: 'Otherwise only new requests are approved.',
    confirm: 'Allow for 15 minutes',
    again: 'Start again for 15 minutes',
    cancel: 'Cancel',
    signInTo: 'allow the calls of a session',
    chipHint: (by: string, until: string) =>
      `${by} allowed the harmless and unknown calls of this session until ${until}.`,
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
    answers: 'The rule answers',
    allow: 'Allow',
    deny: 'Deny',
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
    reaches: { session: 'This session', project: 'This project', agent: 'This agent' },
    reachNotes: {
      session: 'Until this session of the agent ends.',
      project: (directory: string) => `In ${directory} and below.`,
      agent: (agent: string) => `In any directory where ${agent} works.`,
    },
    howLong: 'How long',
    durations: { minutes: '15 min', hours: '8 h', unlimited: 'Until I revoke it' },
    message: 'Message to the agent',
    messagePlaceholder: 'For example: use the test database instead.',
    preview: 'The rule',
    checking: 'Checking…',
    incomplete: 'Check at least one condition and fill it in.',
    applyNow: 'Also apply to matching pending requests',
    applyNowHint: 'Otherwise the rule only answers new requests, and this one stays open.',
    create: 'Create rule',
    cancel: 'Cancel',
    comparison: (argument: string) => `How to compare ${argument}`,
    flagValue: (argument: string) => `Value of ${argument}`,
    comparedWith: (argument: string) => `Value to compare ${argument} with`,
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
    },
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
      `Of the ${looked}, the rule would have answered ${matched}: ${parts}.`,
    legend: { agreed: 'Same as people decided', opposed: 'Opposite', undecided: 'Unanswered' },
  },
}
