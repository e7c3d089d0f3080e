// Strings of components outside the first load.

const count = (n: number) => n.toLocaleString('en')
const kib = (bytes: number) => `${count(Math.max(1, Math.round(bytes / 1024)))} KiB`

export const lazyUiText = {
  close: 'Close',

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

  dates: {
    menu: (range: string) => `Time: ${range}`,
    firstDay: 'First day',
    lastDay: 'Last day',
    show: 'Show',
    order: 'The last day must not be before the first day.',
  },

  json: {
    items: (n: number) => `${n} items`,
    members: (n: number) => `${n} ${n === 1 ? 'member' : 'members'}`,
    more: (n: number) => `… ${n} more: see Raw`,
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
    showAllOf: (total: string) => `Show all ${total}`,
    showAllCharacters: (n: number) => `Show all ${count(n)} characters`,
  },
}
