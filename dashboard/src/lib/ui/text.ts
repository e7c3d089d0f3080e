// The texts of the shared components.

export const uiText = {
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'Select and copy manually',
  until: (time: string) => `until ${time}`,
  expired: 'expired',
  timeLeft: 'time left ',
  left: ' left',
  hiddenCharacter: 'hidden character ',
  hiddenTitle: (name: string | undefined) => `${name}, invisible character`,

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
