// The texts of refused and failed requests to the hub.

export const apiText = {
  unreachable: 'No connection',
  unreachableDetail: 'The hub could not be reached.',
  unreachableHint: 'Nothing was sent. Check that the hub is running, then try again.',
  status: (status: number, text: string) => `The hub responded with ${status} ${text}.`,
  noResult: 'No result',
  noResultDetail: 'The hub did not report a result for this request.',
}
