import type { RiskyCall } from '../api/schema'

// Strings of components outside the first load.

const count = (n: number) => n.toLocaleString('en')
const kib = (bytes: number) => `${count(Math.max(1, Math.round(bytes / 1024)))} KiB`

const deciders: Record<RiskyCall['decided'], string> = {
  agent: 'Decided by the agent itself',
  policy: 'Decided by policy',
  person: 'A person was asked',
  rule: 'Decided by a rule of the hub',
  grant: 'Approved once by a person',
}
const outcomes: Record<RiskyCall['outcome'], string> = {
  open: 'not finished',
  ran: 'ran',
  failed: 'ran and failed',
  refused: 'did not run',
}

export const lazyUiText = {
  statisticsBehind: (n: number) => `Statistics are ${n} ${n === 1 ? 'second' : 'seconds'} behind`,
  done: 'Done',

  event: {
    label: (id: number) => `Event ${id}`,
    previous: 'Previous row',
    previousTitle: 'Previous row (k)',
    next: 'Next row',
    nextTitle: 'Next row (j)',
    close: 'Close',
    closeTitle: 'Close (Esc)',
    session: 'session ',
    took: (duration: string) => `took ${duration}`,
    findings: 'Findings of the hub',
    openInInbox: (state: string) => `${state}: open in the inbox`,
    thisSession: 'This session',
    openSession: 'Open in session',
    link: 'Link',
    json: 'JSON',
    curl: 'curl',
    rated: ({ decided, outcome }: RiskyCall) => `${deciders[decided]} · ${outcomes[outcome]}`,
    newRule: 'Make a rule',
    newRuleTitle: 'Make a rule about such calls (p)',
    ofCall: 'Events of this call',
    parts: { start: 'Start', end: 'End', other: 'Also', request: 'Request' },
    show: 'Show',
    tabs: { event: 'Event', transcript: 'Transcript' } as Record<string, string>,
    loadingSize: (kib: number) => `Loading ${kib} KiB…`,
    transcriptFailed: 'The transcript did not load. The hub may be offline, or newer than this page.',
  },

  diff: {
    change: 'Change',
    fold: (file: string) => `Collapse ${file}`,
    unfold: (file: string) => `Expand ${file}`,
    theChange: 'the change',
    someLines: (n: number, of: number) => `Showing ${n} of ${of} lines.`,
    showAll: 'Show all lines',
    newlineAdded: '(line feed at the end added)',
    newlineRemoved: '(line feed at the end removed)',
    newFile: 'new file',
    deleted: 'file deleted',
  },

  call: {
    changes: (n: number, lines: number) => `${n} changes, ${lines} lines`,
    folded: (n: number) => `${n} folded`,
    unfoldAll: 'Unfold all',
  },

  dates: {
    menu: (range: string) => `Time: ${range}`,
    from: 'First day',
    to: 'Last day',
    show: 'Show',
    order: 'The last day must not be before the first day.',
  },

  transcript: {
    label: 'Transcript',
    search: 'Search the transcript',
    searchPlaceholder: 'Search',
    noMatch: 'no matches',
    position: (at: number, of: number) => `${at} of ${of}`,
    previous: 'Previous match',
    next: 'Next match',
    messages: (n: number) => `${count(n)} messages`,
    messagesLabel: 'Messages',
    calls: (n: number) => `${count(n)} tool calls`,
    failed: (n: number) => `${n} failed`,
    tokensTitle: 'tokens read, without the cache, and written',
    tokens: (input: string, output: string) => `${input} in, ${output} out`,
    end: 'End',
    empty: 'The transcript is empty.',
    roles: {
      user: 'User',
      assistant: 'Assistant',
      system: 'System',
      summary: 'Summary',
      other: 'Outside the conversation',
    },
    message: (role: string, n: number) => `${role}, message ${n}`,
    subagent: 'subagent',
    messageTokensTitle: 'tokens read and written; in brackets: read from or written to the cache',
    cached: (tokens: string) => ` (+${tokens} cached)`,
    inOut: (output: string) => ` in, ${output} out`,
    thinking: 'Thinking',
    thinkingHidden: ': not readable',
    thinkingLength: (n: number) => `, ${count(n)} characters`,
    unmatchedResult: 'Result without a call',
    unknownLine: 'unknown line',
    image: (bytes: number) => `${bytes > 0 ? `, ${kib(bytes)}` : ''}: not shown`,
    noResult: 'no result',
    failedPrefix: 'failed, ',
    lines: (n: number) => (n === 1 ? '1 line' : `${count(n)} lines`),
    images: (n: number) => `, ${n} ${n === 1 ? 'image' : 'images'}`,
    arguments: 'Arguments',
    result: 'Result',
    emptyResult: 'Empty',
  },
  code: {
    showAllCharacters: (n: number) => `Show all ${count(n)} characters`,
  },
}

/** The current user and the lock. */
export const currentUserText = {
  ownerAndAdmin: 'Owner and admin',
  role: (role: string, description: string) => `${role}: ${description}`,
  signOut: 'Sign out',
  signIn: 'Sign in',
  signedOut: 'You’re not signed in.',
  signedOutLocked: 'You can look around. Sign in to answer.',
  signedOutOpen:
    'Your answers are anonymous. Sign in to add your name; the first person to sign in owns the hub.',
  locked: 'The hub is locked.',
  lockedHint:
    'Only signed-in people can answer, cancel, extend, or create rules. Agents on this machine can still ask.',
  unlocked: 'Programs of the hub’s account can answer without signing in.',
  lockWhenSignedIn: 'You can lock it once you have signed in.',
  lock: 'Lock the hub',
  unlock: 'Unlock',
}

/** An action that takes a known person. what completes “to …”. */
export const signInFirstText = {
  unowned: (what: string) => `No one owns this hub yet. Become its owner to ${what}.`,
  owned: (what: string) => `Sign in to ${what}.`,
  findLink: 'Find the sign-in link',
  signIn: 'Sign in',
}

/** The note next to a link: which devices can open it. */
/** The list of share links. */
export const shareListText = {
  title: 'Share links',
  intro: 'They show one session to people who are not signed in. Create them on the page of a session.',
  list: 'Share links',
  by: 'by',
  transcript: 'with transcript',
  created: 'created',
  ends: (interval: string) => `ends in ${interval}`,
  neverOpened: 'never opened',
  opened: (times: number) => `opened ${times === 1 ? 'once' : `${count(times)} times`}, last`,
  revoke: 'Revoke',
  confirmRevoke: 'Confirm revoke',
  about: (session: string, person: string) => `link to ${session} by ${person}`,
}

export const linkReachText = {
  local: 'This link only works on this computer,',
  copied: 'It only works on this computer.',
  makeReachable: 'Make the hub reachable',
  ok: 'This link works on other devices.',
  unchecked: 'The hub has not checked yet whether this link works on other devices.',
  failed: 'The hub does not answer at its public address.',
  openSettings: 'Open the settings of the hub',
}
