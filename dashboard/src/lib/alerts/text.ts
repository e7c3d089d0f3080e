/** User-visible strings of desktop alerts. */
export const text = {
  asks: (agent: string) => `${agent} asks`,
  notDelivered: (agent: string) => `Your answer did not reach ${agent}`,
  testTitle: 'my-agent asks',
  testBody: 'May I delete ./build? (This is a test.)',
}
