import type { RiskyCall } from '../api/schema'

// The texts of the shared components.

export const uiText = {
  copy: 'Copy',
  copied: 'Copied',
  close: 'Close',
  remove: 'Remove',
  confirmRemove: 'Confirm remove',
  loading: 'Loading…',
  dialogNotLoaded: 'This did not load. The hub may be offline, or newer than this page.',
  copyFailed: 'Select and copy manually',
  expires: (permits: boolean) => `expires ${permits ? 'unapproved' : 'unanswered'} `,
  in: 'in ',
  at: 'at ',
  expired: 'expired',
  hiddenCharacter: 'hidden character ',
  hiddenTitle: (name: string | undefined) => `${name}, invisible character`,

  connection: {
    live: 'Live',
    livePolling: 'Live (polling)',
    liveAgain: 'Live again',
    hubRestarted: ' · hub restarted',
    caughtUp: (n: string) => ` · ${n} caught up`,
    behind: (seconds: string) => `${seconds} s behind`,
    replaced: ' · hub was replaced',
    connecting: 'Connecting…',
    catchingUp: (n: string) => `Catching up${n ? ` ${n}` : ''}…`,
    offline: 'Offline',
    outdated: 'The hub has a newer version of this page.',
    reload: 'Reload',
    later: 'Later',
  },

  code: {
    truncated: (shown: string, total: string) => `Showing the first ${shown} of ${total}.`,
    showAll: 'Show all',
    characters: (n: number) =>
      n < 10_000
        ? `${n} characters`
        : n < 1_000_000
          ? `${Math.round(n / 1000)} thousand characters`
          : `${(n / 1_000_000).toFixed(1)} million characters`,
  },

  delivery: {
    label: 'Delivery',
    states: { done: 'done', busy: 'in progress', failed: 'failed', open: 'not yet' },
  },
}

/** Texts of the rating of a tool call. */
export const ratingText = {
  refused: {
    agent: 'Refused',
    policy: 'Denied by policy',
    person: 'Denied',
    rule: 'Denied by rule',
    grant: 'Refused',
  } satisfies Record<RiskyCall['decided'], string>,
  title: ({ codes }: RiskyCall) => (codes?.length ? `Found: ${codes.join(', ').replaceAll('_', ' ')}` : ''),
}

/** The banner of a lost connection. */
export const connectionText = {
  label: 'Connection',
  lost: 'No connection to the hub.',
  restarting: 'Hub restarting.',
  hint: 'This page shows the last known state. Answers can’t be sent.',
  retryIn: (seconds: number, attempt: number) =>
    `Attempt ${attempt} ${seconds > 0 ? `in ${seconds} s` : 'now'}`,
  connectNow: 'Connect now',
}

/** A call to be decided. */
export const callText = {
  label: (suffix: string) => `What will happen${suffix}`,
  change: 'Change',
  plan: 'Plan',
  hidden: (n: number) =>
    `Contains ${n === 1 ? 'one invisible character, shown as a box' : `${n} invisible characters, shown as boxes`}.`,
  unread: (reasons: string[], omitted = 0) =>
    `This call can’t be read completely: ${reasons.join('; ')}.${omitted > 0 ? ` ${omitted} more parts are not marked.` : ''}`,
  loadingPlan: 'Loading the plan…',
  comparing: 'Comparing…',
  compareFailed: 'The comparison did not load. Here is the unmodified call.',
  showAll: '… show all',
  someArguments: (n: number, of: number) => `Showing ${n} of ${of} arguments.`,
  showAllArguments: 'Show all arguments',
  rawJson: 'Raw JSON',
}
