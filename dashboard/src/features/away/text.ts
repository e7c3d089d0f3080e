// The texts of the report about the time in which no one used the page.
export const awayText = {
  title: 'While you were away',
  since: (at: string) => `since ${at}`,
  knownFrom: (at: string) => `The hub keeps no events from before ${at}.`,
  close: 'Close',
}
