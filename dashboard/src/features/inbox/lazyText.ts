// Strings of components outside the first load.

import { plural, times } from '../../lib/format/text'

/** The number of times an outcome occurred. A single outcome that occurred once needs no count. */
const countOf = (n: number, single: boolean) => (single && n === 1 ? '' : ` ${times(n)}`)

export const lazyInboxText = {
  alerts: {
    title: (n: number) => `Alerts (${n})`,
    all: 'All agents',
  },
  you: '(you)',
  tryAgain: 'Try again',
  signIn: 'Sign in',
  more: 'More',
  moreActions: 'More actions',

  choice: {
    reasonHint: 'This agent requires a reason with every answer.',
    commentHint: 'Sent to the agent with your choice.',
    pressAgain: '· press again',
    addComment: 'Add a comment',
    risky: 'Risky: hold the key or the button.',
  },

  card: {
    extend: 'Extend',
    copyLink: 'Copy link',
    snooze: 'Snooze 5 min',
    unsnooze: (left: string) => `Snoozed ${left}: end now`,
    cancel: 'Cancel',
    cancelRequest: ' request',
    discardEdits: 'Discard edits',
  },
  listWidth: 'Width of the list',

  rowActions: {
    approve: 'Review and approve',
    snooze: 'Snooze 5 min',
    unsnooze: 'End the snooze',
    session: 'Show the session',
  },

  grouping: {
    label: 'Group by',
    menu: (by: string) => `Group by: ${by}`,
    by: { none: 'Nothing', session: 'Session', agent: 'Agent' },
  },

  askBack: {
    stop: 'Deny and stop',
    open: 'Ask back…',
    label: 'What do you want to know?',
    placeholder: 'The call is denied. The agent reads this, answers, and may try the same call again.',
    send: 'Deny and ask why',
    exchange: 'Asked before',
    someone: 'Someone',
    asked: 'denied this call and asked',
    answered: 'The agent said since:',
    noWords: 'No answer of the agent is recorded. Its events are under Recent activity.',
    earlier: (id: number) => `Request #${id}`,
  },

  reasons: {
    label: 'Reasons that are sent immediately',
    sends: (reason: string) => `Send: ${reason}`,
    usual: {
      call: [
        'Not needed.',
        'Too risky. Find a safer way.',
        'Wrong path or target. Check it first.',
        'Explain your plan first.',
      ],
      plan: ['Make it smaller.', 'Add tests to it.', 'Change no public interface.', 'List the alternatives.'],
      appeal: [
        'The reviewer is right.',
        'Not needed.',
        'Too risky. Find a safer way.',
        'Explain your plan first.',
      ],
      ask: [
        'Why is this needed?',
        'What exactly will it change?',
        'Can it be undone?',
        'Is there a safer way?',
      ],
    },
  },

  appeal: {
    refusedBy: 'Refused by',
    quoted: 'Quoted from the agent. Hookback’s own findings are listed apart.',
    once: 'An approval lets exactly this call run once, within 5 minutes.',
    laterTitle: 'The agent continues without it',
    later: 'An approval lets exactly this call run once, within an hour.',
    waits:
      'It has not run yet. It runs if the agent makes exactly this call again within an hour of the approval.',
    ended:
      'No run was reported within an hour, and the approval has ended. If the agent asks again, it is a new request.',
  },

  result: {
    runs: (time: string) => `Running for ${time}`,
    stop: 'Stop',
    stopHint: 'Freezes the session: the agent stops at its next tool call. A program that runs is not ended.',
    stopped: 'The session is frozen: the agent stops at its next tool call.',
    stopReason: (id: number) => `Stopped while the call of request ${id} ran.`,
    differs: 'The call did something else than announced.',
    exit: (status: number) => `Exit status ${status}`,
    files: 'Changed',
    more: (n: number) => `and ${n} more`,
    output: (n: number, before: number) =>
      before > 0 ? `Output, the last ${n} of ${n + before} lines` : 'Output',
  },
  outcome: {
    label: 'Outcome',
    by: 'by ',
    decidingVote: '· the deciding vote',
    selfApproval: 'Possible self-approval.',
    selfApprovalHint:
      'The program that answered is the one that asked, or was started by it. The audit log names it.',
    newer: ['The agent asked again in ', '. It can’t tell the two answers apart.'],
    reason: 'Reason',
    editedArguments: 'Approved with edited arguments',
    ranHint:
      'Later events of the agent show that this call ran. Check what it did and how the agent is configured: it does not wait for you.',
    showEvent: 'Show the event',
    failedWith: 'Failed with',
    continued: 'The agent has continued since.',
    retry: 'Retry now',
    copyAnswer: 'Copy the answer',
    markHandled: 'Mark as handled',
    handled: 'It did not reach the agent; marked as handled ',
    receipt: 'Download the receipt',
    receiptHint: 'The decision, signed by the hub. Check it with: hookback receipt verify',
    message: 'Message to the agent',
    messages: {
      withdrawn: 'None: the agent withdrew the request.',
      superseded: 'None: the agent would take it for the answer to its newer request.',
      decidedThere: 'None: the agent continues with what was decided there.',
      dismissed: 'None: a person dismissed the request in the agent.',
      disconnected: 'None: the agent is no longer connected.',
      noQuorum: 'Not enough people agreed: nothing may run.',
      timeout: 'No one answered in time',
      canceled: 'The request was canceled',
      notApproved: (what: string) =>
        `${what}, so it may not continue: nothing is ever approved automatically.`,
      noAnswer: (what: string) => `${what}. There is no answer.`,
    },
  },

  deliveryProblems: {
    unconfirmed: (cause: string) =>
      `The answer was sent, but the agent did not confirm it${cause}. It may or may not have arrived: check what the agent does next.`,
    refused: (cause: string) =>
      `The agent refused the answer${cause}. The answer is kept here; copy it and tell the agent yourself.`,
    refusing: (cause: string, left: string, attempts: string) =>
      `Its listener refuses the answer${cause}. The answer is kept; next attempt in ${left}, after ${attempts}.`,
    retrying: (cause: string, left: string, attempts: string) =>
      `The agent does not respond${cause}. The answer is kept; next attempt in ${left}, after ${attempts}.`,
    unreachable: (cause: string, attempts: string) =>
      `The hub stopped after ${attempts}${cause}. The answer is kept here; copy it and tell the agent yourself.`,
    tooLate: (cause: string) =>
      `The agent had stopped waiting${cause}. The answer is kept here; the agent proceeds as if there was no answer.`,
    blocked: (reason: string) => `The answer is kept here. ${reason}.`,
    notLocal: 'Its address is not on this machine. Start the hub with -callback-allow to allow it',
  },

  history: {
    failed: 'The hub could not be reached.',
    older: 'Show older',
    empty: 'No such requests in this period.',
    noMatch: 'No requests match the search.',
    end: 'End of the list',
  },

  page: {
    home: 'Hookback, to the inbox',
    others: (n: number) => `${n} more waiting`,
    offline: (left: string) => `The hub can’t be reached; retrying in ${left}. Your draft is kept.`,
    tryNow: 'Try now',
    unreachable: 'The hub can’t be reached',
    unreachableHint: 'The request appears as soon as the hub is back.',
    otherHub: 'It may have been pruned, or the link belongs to another hub.',
  },

  cancel: {
    hint: 'Canceling is not a denial: the agent is told that the request was canceled and that nothing may run.',
    placeholder: 'The agent reads this. Optional.',
    run: 'Cancel the request',
  },

  extend: {
    label: 'Extend the deadline',
    hint: 'The agent will wait longer.',
    steps: [
      { seconds: 300, label: '+5 min', name: '5 min' },
      { seconds: 900, label: '+15 min', name: '15 min' },
      { seconds: 3600, label: '+60 min', name: '60 min' },
      { seconds: 0, label: 'No limit', name: '' },
    ],
    shortcut: (name: string) => (name ? `Extend by ${name}` : 'Remove the deadline'),
    done: (name: string) => (name ? `Extended by ${name}.` : 'The deadline is removed.'),
  },

  voterEdit: {
    label: 'Changed by a voter',
    changed: ' changed this call',
    pending: 'The call below is what would run now.',
    settled: 'The decision applies to the call below.',
    cleared: 'Votes before this edit were cleared because they were for a different call.',
  },

  duplicate: {
    asked: (ago: string) => `asked ${ago}`,
    sameAs: ['Same request as ', ': one answer applies to both.'],
  },

  /** The empty inbox of a signed-out visitor. */
  firstRequest: {
    test: 'Send a test request',
    connect: 'Connect agents',
    pair: 'Pair a phone',
  },
  lockedHub: { title: 'This hub is locked', hint: 'Sign in to answer requests.' },
  blocked: {
    signedOut: ['You are signed out.', 'Sign in again to answer. Your draft is kept.'],
    locked: ['The hub is locked.', 'Sign in to answer.'],
    named: [
      'Only certain people can answer this.',
      'Sign in so the hub can check whether you are one of them.',
    ],
    role: ['You can view, but not answer.', 'You are a viewer. An admin can change that in Team, People.'],
    own: [
      'You can’t decide your own request.',
      'It came from you or from a program you run. Another person must decide it.',
    ],
    passkey: ['This needs a passkey.', 'Approving at this risk level requires one.'],
    addPasskey: 'Add yours in Team, People',
    signInAndAdd: 'Sign in, and add yours in Team, People',
    denyWithout: '; denying needs none.',
    elsewhere: [
      'This needs your passkey,',
      'which belongs to a different address than this page. Denying needs none.',
    ],
    frozen: 'Nothing can be approved until someone resumes the agent. Denying works.',
    notAsked: ['You are not a recipient.', 'This is addressed to '],
    settings: 'Open settings',
    openAt: 'Open it at ',
  },

  undoToast: {
    label: 'Just approved',
    answered: 'answered',
    summary: (n: number, what: string) => `${n} ${what}`,
    all: ' all',
    oneByOne: 'One by one',
    undoOf: (title: string) => `Undo: ${title}`,
    tooLate: 'Already sent',
    notApproved: (n: number) => `Not approved: ${n}`,
  },

  unsent: {
    label: 'Your draft was not sent: the request ended first.',
    copy: 'Copy',
    discard: 'Discard',
  },

  responder: {
    passkey: 'passkey',
    passkeyHint: 'Verified with a passkey for exactly this answer.',
    rule: 'by a rule',
    via: {
      session: 'signed in',
      token: 'by a token',
      proxy: 'by your proxy',
      link: 'by a signed link',
      telegram: 'via Telegram',
      slack: 'via Slack',
    } as Record<string, string>,
    verified: 'verified',
    verifiedHint: 'Verified by sign-in or token.',
    unverified: 'unverified',
    unverifiedHint: 'In local mode, any program on the hub’s machine could have sent this answer.',
  },

  activity: {
    titleOf: (n: number) => `Recent activity (${n})`,
    show: 'Show it',
    /** "shop-api also changed /srv/app/a.go 3 min ago" */
    changed: 'also changed',
    denied: (n: number, single: boolean) => `denied${countOf(n, single)}`,
    approved: (n: number, single: boolean) => `approved${countOf(n, single)}`,
    unanswered: (n: number, single: boolean) => `no answer${countOf(n, single)}`,
    lastOutcome: { approve: 'approved', deny: 'denied' } as Record<string, string>,
    last: (outcome: string, ago: string) => `last ${outcome}${ago}`,
    /** "Same call asked before: denied twice, approved once (last approved 3 min ago)". */
    summary: (outcomes: string[], when: string | undefined) =>
      `Same call asked before: ${outcomes.join(', ')}${when ? ` (${when})` : ''}`,
  },

  automatic: {
    recipients: {
      owner: 'the owner',
      owner_admins: 'the owner and the admins',
      anyone: 'everyone',
    } as Record<string, string>,
    others: 'others',
    deadlineNotSent: (why: string) =>
      `The agent could not be told about the new deadline${why}. It may stop waiting at the old deadline; a later answer is kept for it.`,
    extended: (by: string, at: string) => `${by} extended the deadline at ${at}`,
    extensionDelivered: '; the agent was notified.',
    extensionQueued: '; notifying the agent.',
    reminded: (sent: number, of: number) => `Reminded ${times(sent)}${of > 0 ? ` of ${of}` : ''}.`,
    reminds: (n: number, every: string) => `Reminds at most ${times(n)}, every ${every}.`,
    escalated: (at: string, who: string) => `Escalated at ${at} to ${who}.`,
    escalates: (at: string, who: string) => `Escalates at ${at} to ${who}.`,
    defaults: {
      timeout: 'the deadline',
      recipients: 'the recipients',
      requiredApprovals: 'the number of approvals',
    } as Record<string, string>,
    byDefault: (what: string) => `Set by the hub’s settings: ${what}.`,
    reducedDefaults:
      'The hub’s settings could not apply completely, because some of their people may not answer here.',
    failsRun: 'If no one answers in time, the agent stops its run.',
  },
  filters: {
    kind: 'Kind',
    agent: 'Agent',
    waitingOnMe: 'Waiting on me',
    anyAgent: 'Any agent',
    agents: (n: number) => `${n} agents`,
    agentMenu: (chosen: string) => `Agents: ${chosen}`,
    findAgent: 'Find an agent',
    findPlaceholder: 'Find',
    noAgent: 'No matching agent',
    pending: (n: number | undefined) => `${n} pending`,
  },
  question: {
    answer: 'Your answer',
    placeholder: 'Your answer. The agent receives it exactly as you write it.',
    send: 'Send',
    draftKept: 'Saved as a draft until you send it.',
    toWrite: 'to write',
    pickAny: 'pick any',
    thenNext: ', then Enter or ↓',
    other: 'Something else…',
    otherLabel: (question: string) => `Another answer to: ${question}`,
    answerLabel: (question: string) => `Answer to: ${question}`,
    sendAnswers: (n: number) => `Send ${n} ${plural(n, 'answer', 'answers')}`,
    progress: (done: number, of: number) => `${done} of ${of} answered`,
  },
  edits: {
    title: 'Edit the arguments',
    reset: 'Reset',
    whatChanged: 'What changed',
  },
  group: {
    label: 'Calls like this one',
    approve: (n: number) => `Approve ${n === 1 ? 'the one that is checked' : `these ${n}`}`,
    hint: 'The answers below are for the call above only.',
  },
  bulk: {
    title: (n: number) =>
      n === 0 ? 'No requests to approve' : n === 1 ? 'Approve this request?' : `Approve ${n} requests?`,
    none: 'None of the open requests can be approved in bulk.',
    intro: 'Uncheck what you want to answer separately. You can undo all of it for five seconds.',
    next: (n: number) => `Show ${n} more`,
    changedHint: 'It will not be approved here.',
    answeredFirst: 'Another answer came first.',
    changed: 'It has changed since.',
    excluded: 'Not included',
    limit: (n: number) => `At most ${n} at a time.`,
    approve: (n: number) => `Approve ${n === 1 ? 'this request' : `${n} requests`}`,
  },
  votes: {
    label: 'Votes',
    required: (pending: boolean, need: number, of: number) =>
      `${pending ? 'Needs' : 'Needed'} ${need}${of > 0 ? ` of ${of}` : ''} to agree`,
    ofNeeded: (n: number) => ` of ${n} needed`,
    waitingFor: 'Waiting for',
    notVoted: 'Did not vote:',
    anyone: 'Anyone who can answer here can vote.',
  },
  suggestion: {
    also: 'Also:',
    remember: 'Remember',
    allow: 'Always allow',
    scopes: {
      session: 'until this session ends',
      cliArg: 'until this session ends',
      localSettings: 'in this project, for you only (.claude/settings.local.json)',
      projectSettings: 'in this project, for everyone who works on it (.claude/settings.json)',
      userSettings: 'in all your projects (~/.claude/settings.json)',
    },
    modes: {
      acceptEdits: 'Accept all file edits',
      bypassPermissions: 'Never ask again for anything',
      dontAsk: 'Never ask: refuse what is not already allowed',
      auto: 'Let the agent’s own check decide, without asking',
      plan: 'Only plan, change nothing',
      default: 'Ask as usual',
    },
    verbs: {
      addRules: { allow: 'Always allow', deny: 'Always deny', ask: 'Always ask for' },
      replaceRules: {
        allow: 'Replace all allow rules with:',
        deny: 'Replace all deny rules with:',
        ask: 'Replace all ask rules with:',
      },
      removeRules: {
        allow: 'No longer always allow',
        deny: 'No longer always deny',
        ask: 'No longer always ask for',
      },
    },
    removeDirectories: 'No longer work in',
    addDirectories: 'Also work in these directories without asking:',
    switchMode: 'Switch to mode',
    everyCall: (tool: string) => `${tool} (every call)`,
  },
}

/** A signed link: voting without the dashboard. */
export const linkText = {
  for: 'For',
  loading: 'Loading …',
  retry: 'Try again',
  openDashboard: 'Open the dashboard',
  voted: 'Your vote is recorded.',
  waitingFor: 'Waiting for',
  decided: 'Done.',
  decidedHint: 'The request is decided, and the agent gets the answer.',
  usedUp: 'This link can’t be used again; you can close this page.',
  openRequest: 'Open it in the dashboard',
}
