import { plural } from '../../lib/format/text'
import type { Risk } from '../../lib/api/types'

// Every text that the inbox shows. Texts of agents and wire values are not in here.

export const inboxText = {
  title: 'Inbox',
  back: 'Back',
  backToInbox: 'Back to the inbox',
  close: 'Close',
  loading: 'Loading…',
  undo: 'Undo',
  comment: 'Comment',
  why: 'Why',
  edit: 'Edit',
  notFound: (id: number | undefined) => `Request ${id} not found`,
  notFoundHint: 'It may have been pruned, or it belongs to another hub.',

  list: {
    groups: {
      undelivered: 'Not delivered',
      needs: 'Needs you',
      votes: 'Waiting for other votes',
      snoozed: 'Snoozed',
      settled: 'Just settled',
      gone: 'Agent gone',
    },
    order: { urgency: 'last minutes first, then risk', arrival: 'oldest first' },
    moved: (n: number) => `${n} moved`,
    movedHint: 'Sort by urgency again',
    approveAll: (n: number) => `Review and approve ${n}`,
    failed: 'This list did not load.',
    otherDays: (n: number) => `${n} more ${plural(n, 'request is', 'requests are')} waiting from other days.`,
    showAllDays: 'Show any time',
    selected: (n: number) => `${n} selected`,
    approve: 'Review and approve',
    clear: 'Clear',
    select: (id: number) => `Select #${id}`,
    duplicates: (n: number) => `${n} agents are asking the same thing; your answer applies to all.`,
    like: (n: number) => `${n} like calls; show each.`,
    likeOf: (id: number) => `Calls like #${id}`,
    duplicatesOf: (id: number) => `Same request as #${id}`,
    filtered: (n: number) => `${n} waiting, none match the filter.`,
    empty: 'You’re all caught up.',
    endsSoon: 'It expires soon, so it can’t be snoozed.',
    snoozed: (id: number) => `#${id} is snoozed for 5 min.`,
  },

  emptyState: {
    first: 'No requests yet',
    firstHint: 'Requests of your agents appear here. A test request shows how that works; nothing runs.',
    clear: 'You’re all caught up',
    working: (n: number) =>
      n === 0 ? 'No agent is working.' : n === 1 ? 'One agent is working.' : `${n} agents are working.`,
  },

  row: {
    snoozedFor: (left: string) => `snoozed ${left}`,
    sameRequest: ' agents are asking the same thing',
    notAccepted: 'not accepted',
    agentGone: 'agent gone',
    appeal: 'Appeals a refusal',
    later: 'Agent goes on meanwhile',
    because: 'because: ',
  },

  filters: {
    open: 'Open',
    done: 'Done',
    tabs: {
      pending: 'Open',
      done: 'All',
      decided: 'Decided',
      automatic: 'Automatic',
      expired: 'Expired',
      cancelled: 'Canceled',
    },
    which: 'Which requests',
    search: 'Search the requests',
    searchPlaceholder: 'Search',
    failed: 'The filters did not load.',
    showOnly: 'Show only',
    highRisk: 'High risk',
  },

  header: {
    inbox: 'Inbox',
    session: 'session ',
    asked: (id: number, ago: string) => `request #${id} · asked ${ago}`,
    commit: 'commit ',
    showSession: 'Show this session',
    viewers: (n: number) => `Also open on ${n === 1 ? 'another screen' : `${n} other screens`}.`,
    looking: (n: number) => (n === 1 ? ' is looking.' : ' are looking.'),
    firstAnswer: ' The first answer counts.',
    alsoOpenIn: 'Also open in ',
    possessive: '’s',
    theAgents: 'the agent’s',
    ownWindow: ' own window: the first answer wins.',
    theAgent: 'The agent',
    owners: {
      matched: (files: string, from: string) => `Only owners of ${files} decide (${from}).`,
      fallback: (at: string) => ` They have quiet hours: everyone else may answer from ${at}.`,
      escalated: (files: string) => `Owners of ${files} did not answer in time, so others may answer, too.`,
      unknown: (files: string, owners: string) =>
        `No owner of ${files} (${owners}) is a member here who may answer, so everyone is asked.`,
      too_few: (files: string, owners: string) =>
        `Fewer owners of ${files} (${owners}) than have to agree are members here, so everyone is asked.`,
      unstated: (problem: string) => `No owners are known${problem && `: ${problem}`}. Everyone is asked.`,
    },
    asksThere: (left: string) => (left ? ` asks in its terminal in ${left}.` : ' asks in its terminal now.'),
  },

  request: {
    label: (id: number) => `Request ${id}`,
    loading: 'Loading the whole request…',
    loadFailed: 'The whole request could not be loaded, so it can’t be answered yet.',
    loadAgain: 'Try again',
    voted: 'You have voted; voting again replaces your vote.',
    unknownKind: ['This page does not support requests of the kind “', '”. You can only cancel it here.'],
    consequence: 'What it does',
    noDeadline: 'No deadline',
    informational: 'for information',
    linkCopied: 'Link copied.',
    linkIs: (url: string) => `Link: ${url}`,
    readMore: 'There is more to review. Press again to decide.',
    scrolled: 'Scrolled to the request. Press again to decide.',
    nothingSent: 'Nothing was sent.',
    changedBy: (who: string) => `${who} changed the call. Review it again before you decide.`,
    rejected: 'Your answer was not accepted.',
    stale: 'The call changed while you were deciding. Review it, then vote again. Your draft is kept.',
    frozen: 'Its agent is frozen. Nothing was approved. You can deny, or resume the agent first.',
    kept: 'Your draft is kept: fix it, or try again.',
    agentGone: 'The agent is gone.',
    agentGoneHint:
      'As far as the hub can tell, nothing is waiting for this answer. If you answer, the hub keeps trying to deliver it.',
    yourPrompt: 'Your prompt',
    agentSays: 'Agent says',
    showAll: 'Show all',
    showLess: 'Show less',
    partFailed: 'Part of this request did not load. The hub may be offline, or newer than this page.',
    links: 'Links',
  },

  findings: {
    label: (suffix: string) => `Why it is risky${suffix}`,
    levels: { low: 'Low', medium: 'Medium', high: 'High', critical: 'Critical' } satisfies Record<
      Risk,
      string
    >,
    found: 'Hookback found:',
    byAgent: (reason: boolean) => `, says the agent${reason ? '' : ', without a reason'}.`,
    in: 'in ',
  },

  permission: {
    redacted:
      'A value is still hidden by the hub ([redacted:…]) and would run like this. Replace it, or approve without edits.',
    whyAllowed: 'Why is it allowed?',
    planInstead: 'What should change in the plan?',
    callInstead: 'What should the agent do instead?',
    planInsteadHint: 'The agent reads this and revises the plan.',
    whyRefused: 'Why should it stay refused?',
    whyRefusedHint: 'Kept with your decision. If you are signed in, the agent gets it as a message.',
    callInsteadHint: 'The agent reads this and continues.',
    whyAllowedHint: 'The agent reads this with your approval.',
    commentHint: 'Shown with your vote, to other voters and the agent.',
    deny: 'Deny',
    denyMore: 'Deny…',
    runOnce: 'Run it once',
    keepRefused: 'Keep refused',
    askForChanges: 'Ask for changes',
    askForChangesMore: 'Ask for changes…',
    withReason: ' with this reason',
    withFeedback: ' with this feedback',
    scrollToReview: 'Scroll to review',
    pressAgain: 'Press again to approve',
    approve: 'Approve',
    approvePlan: 'Approve plan',
    approveEdits: (n: number) => `Approve with ${n} ${plural(n, 'edit', 'edits')}`,
    hold: '(hold)',
  },

  reason: { required: '· required' },

  edits: {
    mustBeNumber: 'This must be a JSON number, such as 10000 or 0.5.',
    grouped: (text: string, decimal: string) =>
      `In JSON, ${text} is ${String(Number(text))}: the dot is the decimal point. Write ${text.replace('.', '')} or ${decimal}.`,
    notJson: (why: string) => `This is not valid JSON: ${why}`,
  },

  undoBanner: {
    chip: (seconds: number) => `undo ${seconds} s`,
    waiting: (seconds: number) => `Sent to the agent in ${seconds} s.`,
  },

  lastAnswer: {
    label: 'Your last answer',
    rejectedLabel: (id: number) => `Not accepted: #${id}`,
    rejected: 'Not accepted',
    hubRejected: 'The hub did not accept it.',
    stillOpen: 'The request is still open and your draft is kept.',
  },

  bulk: {
    blockers: {
      settled: 'Already settled.',
      agentGone: 'The agent is gone; nothing is waiting for an answer.',
      notPermission: 'Only permissions can be approved in bulk.',
      risky: 'Risky requests must be approved one at a time.',
      reason: 'The agent requires a reason with the answer.',
      frozen: 'Its agent is frozen.',
      votes: 'It needs several votes.',
      appeal: 'It runs only if the agent repeats it. Open it and answer it there.',
      notLoaded: 'Its details could not be loaded.',
    },
  },

  votes: {
    approve: 'Approve',
    deny: 'Deny',
    none: 'no votes',
    summary: (need: number, of: number, votes: string) =>
      `${need}${of > 0 ? ` of ${of}` : ''} must agree; so far ${votes}.`,
  },
} as const
