/** User-visible strings of the documentation. */
export const text = {
  title: 'Documentation',
  index: '/docs',
  search: 'Search the documentation',
  results: (n: number, query: string) =>
    `${n === 1 ? '1 section has' : `${n} sections have`} all words of “${query}”.`,
  searchTitle: 'Search',
  notFound: 'Page not found',
  notFoundHint: 'This hub has no document at this address. ',
  all: 'All documents',
  notLoaded: 'This document did not load. Is the hub running?',
}

/** The headings and sentences of the generated documents, in Markdown. */
export const apiText = {
  more: '\n## Reference\n\n- [API reference](/docs/api): every route of this hub\n- [Licenses](/licenses)\n',
  title: 'API reference',
  licenses: 'Licenses',
  whole: 'The whole is in [openapi.json](/openapi.json).',
  tag: (name: string) => `API: ${name}`,
  access: (role: string) => `Access: \`${role}\`.`,
  parameter: 'Parameter',
  member: 'Member',
  type: 'Type',
  description: 'Description',
  status: 'Status',
  body: (type: string) => `Request body: ${type}`,
  result: (status: string, type: string) => `Result ${status}: ${type}`,
  required: 'Required.',
  or: ' or ',
  arrayOf: (type: string) => `array of ${type}`,
  schemas: 'Schemas',
}
