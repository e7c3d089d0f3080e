import { describe, expect, it } from 'vitest'
import type { Json } from '../api/types'
import { formatTokens } from '../format/amounts'
import { parseTranscript, search, type Part } from './transcript'

const kinds = (chat: Json) =>
  parseTranscript(chat).messages.map((m) => [m.role, ...m.parts.map((p) => p.kind)])
const call = (p: Part | undefined) => (p?.kind === 'call' ? p : undefined)

const usage = {
  input_tokens: 12,
  output_tokens: 34,
  cache_read_input_tokens: 5000,
  cache_creation_input_tokens: 70,
}
const said = (id: string, block: Json) => ({
  type: 'assistant',
  timestamp: '2026-11-21T12:00:01.000Z',
  message: { id, role: 'assistant', model: 'claude-opus-5', content: [block], usage },
})
const claude: Json = [
  { type: 'file-history-snapshot', snapshot: {} },
  { type: 'permission-mode', permissionMode: 'default' },
  {
    type: 'user',
    message: { role: 'user', content: 'Fix the build' },
    timestamp: '2026-11-21T12:00:00.000Z',
  },
  said('m1', { type: 'thinking', thinking: 'Look first.' }),
  said('m1', { type: 'text', text: 'I **look**.' }),
  said('m1', { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'make' } }),
  {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 't1', content: 'exit 2', is_error: true }],
    },
  },
  said('m2', { type: 'text', text: 'It is broken.' }),
  { type: 'summary', summary: 'A broken build' },
  { type: 'system', content: 'Compacted' },
]

describe('Claude Code transcript', () => {
  it('merges the lines of an answer into one message, and attaches results to calls', () => {
    expect(kinds(claude)).toEqual([
      ['other', 'unknown', 'unknown'],
      ['user', 'text'],
      ['assistant', 'thinking', 'text', 'call'],
      ['assistant', 'text'],
      ['summary', 'text'],
      ['system', 'text'],
    ])
    const { messages, calls, failures } = parseTranscript(claude)
    const bash = call(messages[2]?.parts[2])
    expect(bash?.input).toEqual({ command: 'make' })
    expect(bash?.result).toEqual({ text: 'exit 2', images: [], failed: true })
    expect([calls, failures]).toEqual([1, 1])
    expect(messages[2]).toMatchObject({ model: 'claude-opus-5', at: Date.parse('2026-11-21T12:00:01Z') })
  })

  it('counts the usage of an answer once, even if several lines contain it', () => {
    expect(parseTranscript(claude).usage).toEqual({
      input: 24,
      output: 68,
      cacheRead: 10_000,
      cacheWrite: 140,
    })
  })

  it('reads JSON Lines from text, and keeps invalid lines', () => {
    const lines = (claude as Json[]).map((line) => JSON.stringify(line)).join('\n')
    expect(parseTranscript(lines)).toEqual(parseTranscript(claude))
    expect(kinds(lines + '\nnot json')).toHaveLength(7)
    expect(parseTranscript('plain words').messages[0]?.parts).toEqual([{ kind: 'text', text: 'plain words' }])
  })

  it('shows the type and size of images in messages and results', () => {
    const image = {
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data: 'AAAA'.repeat(100) },
    }
    const { messages } = parseTranscript([
      { type: 'user', message: { role: 'user', content: [{ type: 'text', text: 'See' }, image] } },
      said('m', { type: 'tool_use', id: 't', name: 'Read', input: {} }),
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [image, { type: 'text', text: 'ok' }] }],
      },
    ])
    expect(messages[0]?.parts[1]).toEqual({ kind: 'image', image: { type: 'image/png', bytes: 300 } })
    expect(call(messages[1]?.parts[0])?.result).toEqual({
      text: '\nok',
      images: [{ type: 'image/png', bytes: 300 }],
      failed: false,
    })
  })

  it('shows a result without a call, and a second result', () => {
    const result = { type: 'tool_result', tool_use_id: 't', content: 'x' }
    expect(kinds([{ role: 'user', content: [result] }])).toEqual([['user', 'result']])
    const use = said('m', { type: 'tool_use', id: 't', name: 'Read', input: {} })
    expect(kinds([use, { role: 'user', content: [result] }, { role: 'user', content: [result] }])).toEqual([
      ['assistant', 'call'],
      ['user', 'result'],
    ])
  })

  it('contains the messages of subagents', () => {
    const { messages } = parseTranscript([{ ...said('m', { type: 'text', text: 'a' }), isSidechain: true }])
    expect(messages[0]?.side).toBe(true)
  })
})

describe('Other transcripts', () => {
  it('reads plain roles', () => {
    expect(
      kinds([
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'text', text: 'Hello' }] },
      ]),
    ).toEqual([
      ['system', 'text'],
      ['user', 'text'],
      ['assistant', 'text'],
    ])
  })

  it('reads OpenAI tool calls', () => {
    const { messages } = parseTranscript({
      messages: [
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', function: { name: 'sh', arguments: '{"cmd":"ls"}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a.go' },
      ],
    })
    expect(messages).toHaveLength(1)
    expect(call(messages[0]?.parts[0])).toMatchObject({
      name: 'sh',
      input: { cmd: 'ls' },
      result: { text: 'a.go' },
    })
  })

  it('reads wrapped Codex items', () => {
    const item = (payload: Json) => ({ type: 'response_item', payload })
    const { messages } = parseTranscript([
      { type: 'session_meta', payload: { id: 'x' } },
      item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go' }] }),
      item({ type: 'function_call', call_id: 'c', name: 'shell', arguments: '{"command":["ls"]}' }),
      item({ type: 'function_call_output', call_id: 'c', output: 'ok' }),
    ])
    expect(messages.map((m) => m.role)).toEqual(['other', 'user', 'assistant'])
    expect(call(messages[2]?.parts[0])?.result?.text).toBe('ok')
  })

  it('reads Gemini messages', () => {
    const { messages, usage: all } = parseTranscript([
      {
        type: 'gemini',
        content: 'Done',
        tokens: { input: 10, output: 2, cached: 3 },
        toolCalls: [{ id: '1', name: 'ls', args: { path: '.' }, result: ['a'], status: 'error' }],
      },
    ])
    expect(messages[0]?.parts.map((p) => p.kind)).toEqual(['text', 'call'])
    expect(all).toEqual({ input: 10, output: 2, cacheRead: 3, cacheWrite: 0 })
  })
})

describe('Unknown transcript', () => {
  const odd: Json[] = [
    null,
    1,
    true,
    [],
    {},
    [null, 1, [[]], { type: 'x' }, { message: 5 }, { role: 'user' }],
    ['a'],
  ]
  it.each(odd.map((value) => [JSON.stringify(value), value]))('does not fail on %s', (_, value) => {
    for (const message of parseTranscript(value as Json).messages)
      expect(message.parts.length).toBeGreaterThan(0)
  })

  it('keeps every unknown line', () => {
    const lines: Json[] = [
      { a: 1 },
      5,
      { type: 'assistant' },
      { role: 'user', content: [{ type: 'new' }, 7] },
    ]
    const all = parseTranscript(lines).messages.flatMap((m) => m.parts)
    expect(all.map((p) => p.kind)).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'unknown'])
  })

  it('accepts 5,000 messages', () => {
    const many = Array.from({ length: 5000 }, (_, i) => ({
      role: i % 2 ? 'assistant' : 'user',
      content: `n ${i}`,
    }))
    expect(parseTranscript(many).messages).toHaveLength(5000)
  })
})

it('search is case-insensitive in messages, arguments and results', () => {
  const { messages } = parseTranscript(claude)
  expect(search(messages, 'BROKEN')).toEqual([3, 4])
  expect(search(messages, 'exit 2')).toEqual([2])
  expect(search(messages, 'make')).toEqual([2])
  expect(search(messages, 'permissionmode')).toEqual([0])
  expect(search(messages, '  ')).toEqual([])
})

it.each([
  [0, '0'],
  [999, '999'],
  [1000, '1.0k'],
  [12_345, '12.3k'],
  [123_456, '123k'],
  [999_600, '1.0M'],
  [3_100_000, '3.1M'],
])('formatTokens(%i) is %s', (n, text) => expect(formatTokens(n)).toBe(text))
