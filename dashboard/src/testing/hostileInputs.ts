// Request bodies that broken or malicious agents may send. An end-to-end test posts each one
// and checks that the hub accepts or rejects it as stated here. Tests of the screens render
// the accepted ones.

import type { Event } from '../lib/api/types'

export interface HostileInput {
  name: string
  /** The exact body of POST /events. */
  body: string | Uint8Array<ArrayBuffer>
  /** How the hub rejects it; undefined if it accepts it. */
  rejection?: { code: string; field?: string; message: RegExp }
}

/** The event that the hub sends for an accepted body. */
export function hostileEvent({ body }: HostileInput, id: number): Event {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const event = JSON.parse(text) as Event
  const asks = event.humanInTheLoop != null
  return {
    timestamp: 1_700_000_000_000 + id,
    ...event,
    id,
    ...(asks ? { humanInTheLoopStatus: { status: 'pending', revision: 1 } } : {}),
  }
}

const MEGABYTE = 1 << 20

// Escaped, because invisible characters would look like mistakes.
const bidi = '\u202Egnp.exe\u202C \u2066isolated\u2069 \u200Fright'
const invisible = 'a\u200Bb\u200Cc\u200Dd\u2060e\uFEFFf\u00ADg\u034Fh\u3164i\u{E0041}j'
const ansi =
  '\u001b[2J\u001b[31mred\u001b[0m \u001b]0;title\u0007 \u009b1mC1 \u0000\u0008\u007F \r overwritten'
const family =
  '\u{1F468}\u200D\u{1F469}\u200D\u{1F467}\u200D\u{1F466} \u{1F3F4}\u{E0067}\u{E0062}\u{E007F} \u{1F44D}\u{1F3FD} e\u0301\u0323'
const zalgo = 'Z' + '\u0300\u0315\u0327\u0489'.repeat(50)
const rightToLeft = 'שלום rm -rf / مرحبا (abc) [1, 2]'
const separators = 'one\u2028two\u2029three\u0085four\u000Bfive\u000Csix'

const markup = [
  '<script>document.title="pwned"</script>',
  '<img src=x onerror="document.title=\'pwned\'">',
  '<svg onload="document.title=\'pwned\'"><use href="data:x"/></svg>',
  '"><iframe srcdoc="<script>parent.document.title=\'pwned\'</script>"></iframe>',
  '<a href="javascript:document.title=\'pwned\'">go</a>',
  '<style>*{display:none!important}</style><base href="https://evil.example/">',
  '{@html "<b>svelte</b>"} {{constructor.constructor("alert(1)")()}} ${alert(1)}',
  '[link](javascript:alert(1)) ![pixel](https://evil.example/p.png) <https://evil.example>',
  '--><!--]]>&lt;b&gt;&#x202e;%3Cscript%3E',
].join('\n')

const texts: [name: string, text: string][] = [
  ['markup', markup],
  ['bidi controls', bidi],
  ['invisible characters', invisible],
  ['ANSI escapes and control characters', ansi],
  ['emoji sequences and combining marks', family],
  ['stacked combining marks', zalgo],
  ['right-to-left text', rightToLeft],
  ['Unicode line separators', separators],
  ['noncharacters', '\uFFFE\uFFFF\u{1FFFF} \uFFFD \uE000'],
  ['JSON within JSON', '{"a":"\\u0022}],"}'],
  ['names of Object.prototype', '__proto__ constructor toString hasOwnProperty'],
  ['a page of blank lines before the end', `echo ok${'\n'.repeat(400)}rm -rf ~`],
  ['a far-off end of the line', `echo ok${' '.repeat(4000)}; rm -rf ~`],
  ['a long word', 'x'.repeat(20_000)],
]

const base = { source_app: 'hostile', session_id: 's1', hook_event_type: 'PreToolUse', payload: {} }

function event(name: string, more: object, rejection?: HostileInput['rejection']): HostileInput {
  return { name, body: JSON.stringify({ ...base, ...more }), ...(rejection ? { rejection } : {}) }
}

/** An event with a question, with the text in every place that people read. */
function permissionQuestion(text: string): object {
  const short = text.slice(0, 900)
  return {
    source_app: short.replaceAll('\n', ' '),
    session_id: short,
    hook_event_type: 'PermissionRequest',
    tool_name: short,
    summary: text,
    payload: { tool_name: short, tool_input: { command: text, [short]: text }, [short]: [text] },
    humanInTheLoop: {
      question: text.slice(0, 60_000),
      type: 'permission',
      toolCall: { name: short, arguments: { command: text, [short]: { [short]: [text] } }, editable: true },
      context: {
        why: text,
        cwd: short,
        branch: short,
        diff: `--- a\n+++ b\n@@ -1 +1 @@\n-${text}\n+${text}`,
        userPrompt: text,
        links: [short, 'javascript:alert(1)'],
      },
      agentPath: [short, short],
      suggestions: [text, { type: text }, null],
    },
  }
}

const choiceQuestion = (text: string): object => ({
  hook_event_type: 'PermissionRequest',
  humanInTheLoop: {
    question: text.slice(0, 60_000),
    type: 'choice',
    choices: [`1 ${text}`, `2 ${text}`],
  },
})

const formQuestion = (text: string): object => ({
  hook_event_type: 'PermissionRequest',
  humanInTheLoop: {
    question: text.slice(0, 60_000),
    type: 'question',
    questions: [
      {
        id: '__proto__',
        question: text,
        header: text,
        options: [{ label: `a ${text}`, description: text }],
      },
      { id: 'constructor', question: text },
    ],
  },
})

const textInputs: HostileInput[] = texts.flatMap(([name, text]) => [
  event(`an event full of ${name}`, {
    tool_name: text.slice(0, 900),
    summary: text,
    payload: { command: text, error: [text] },
  }),
  event(`a permission full of ${name}`, permissionQuestion(text)),
  event(`a choice full of ${name}`, choiceQuestion(text)),
  event(`questions full of ${name}`, formQuestion(text)),
])

const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

/** An event with the given JSON text as its payload, unchanged. */
const payload = (name: string, text: string, rejection?: HostileInput['rejection']): HostileInput => ({
  name,
  body: JSON.stringify(base).replace('"payload":{}', () => `"payload":${text}`),
  ...(rejection ? { rejection } : {}),
})

/** A permission with the given JSON text as its arguments, unchanged. */
const args = (name: string, text: string, rejection?: HostileInput['rejection']): HostileInput =>
  payload(
    name,
    `{},"humanInTheLoop":{"type":"permission","question":"May I?","toolCall":{"name":"Bash","arguments":${text}${text.startsWith('{') ? ',"editable":true' : ''}}}`,
    rejection,
  )

const manyKeys = JSON.stringify(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`key${i}`, i])))
const numbers =
  '{"big":9007199254740993,"huge":1e400,"tiny":-0.0,"long":0.1234567890123456789012345678901234567890,"id":123456789012345678901234567890}'
const prototypes =
  '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":null,"hasOwnProperty":1,"then":"x","toJSON":"y","length":-1}'
const nulls = '{"command":null,"file_path":null,"edits":[null],"nested":{"a":null}}'
const surrogates = '{"command":"\\ud83d lone \\ude00 \\udc00\\ud800","\\ud800":"\\udfff"}'

const payloadInputs: HostileInput[] = [
  payload('a line of a megabyte', JSON.stringify({ tool_input: { command: 'x'.repeat(MEGABYTE) } })),
  args('a command of a megabyte', JSON.stringify({ command: 'echo ' + 'x'.repeat(MEGABYTE) })),
  args('a command of a megabyte of quotes', JSON.stringify({ command: '"\'`$('.repeat(MEGABYTE / 8) })),
  payload('a megabyte of line breaks', JSON.stringify({ text: '\n'.repeat(MEGABYTE) })),
  payload('10,000 keys', manyKeys),
  args('arguments with 10,000 keys', manyKeys),
  payload('lists nested 150 deep', `{"deep":${deep(150)}}`),
  args('arguments nested 150 deep', `{"deep":${deep(150)}}`),
  payload('lists nested 200 deep', `{"deep":${deep(200)}}`, { code: 'invalid', message: /deep/ }),
  payload('lists nested 100,000 deep', `{"deep":${deep(100_000)}}`, { code: 'invalid', message: /deep/ }),
  payload('lone surrogates', surrogates),
  args('arguments with lone surrogates', surrogates),
  payload('numbers that JavaScript rounds', numbers),
  args('arguments with numbers that JavaScript rounds', numbers),
  payload('keys of Object.prototype', prototypes),
  args('arguments with keys of Object.prototype', prototypes),
  payload('nothing but null', nulls),
  args('arguments of nothing but null', nulls),
  args('arguments that are null', 'null'),
  args('arguments that are a text', '"rm -rf /"'),
  args('arguments that are a list', '["rm","-rf","/"]'),
  payload('the same key twice', '{"command":"ls","command":"rm -rf /"}'),
  args('arguments with the same key twice', '{"command":"ls","command":"rm -rf /"}'),
  payload('empty texts', '{"":"","command":"","tool_input":{"":{}}}'),
  event('an unknown type of event', { hook_event_type: 'Ünknown/Type <b>', payload: { x: 1 } }),
  event('null in every place that may be empty', {
    summary: null,
    chat: null,
    tool_name: null,
    error: null,
    timestamp: null,
    is_interrupt: null,
    hook_event_type: 'PermissionRequest',
    humanInTheLoop: {
      question: 'May I?',
      type: 'permission',
      choices: null,
      timeout: null,
      toolCall: null,
      context: null,
      questions: null,
      risk: null,
      agentPath: null,
      suggestions: null,
    },
  }),
  event('unknown members everywhere', {
    whatever: { a: [1] },
    __proto: 1,
    humanInTheLoop: {
      question: 'May I?',
      type: 'permission',
      mood: 'bad',
      toolCall: { name: 'X', colour: 'red' },
      context: { moon: 'full' },
    },
  }),
  event("the hub's own members, forged", {
    id: 1,
    uid: 'x',
    payloadTruncated: true,
    payloadBytes: -1,
    requestSecret: 'guess',
    humanInTheLoopStatus: { status: 'responded', outcome: 'approve', response: { permission: true } },
    humanInTheLoop: { question: 'May I?', type: 'permission' },
  }),
  event('a time at the end of time', { timestamp: 8_640_000_000_000_000 }),
  event('a time before time', { timestamp: -8_640_000_000_000_000 }),
]

const invalid = (field: string, says: RegExp) => ({ code: 'invalid', field, message: says })

const rejectedInputs: HostileInput[] = [
  { name: 'nothing', body: '', rejection: { code: 'invalid', message: /JSON/ } },
  { name: 'null', body: 'null', rejection: { code: 'invalid', message: /object/ } },
  {
    name: 'a cut off event',
    body: JSON.stringify(base).slice(0, -5),
    rejection: { code: 'invalid', message: /incomplete JSON/ },
  },
  { name: 'invalid UTF-8', body: invalidUtf8(), rejection: { code: 'invalid', message: /UTF-8/ } },
  {
    name: 'a NUL byte between the members',
    body: JSON.stringify(base).replace(',', ',\0'),
    rejection: { code: 'invalid', message: /JSON/ },
  },
  event('an empty name', { source_app: '' }, invalid('source_app', /empty/)),
  event('a name of a megabyte', { source_app: 'x'.repeat(MEGABYTE) }, invalid('source_app', /longer/)),
  event('a name that is a number', { session_id: 7 }, invalid('session_id', /string/)),
  event('a payload that is a text', { payload: '<script>' }, invalid('payload', /object/)),
  event('a payload that is null', { payload: null }, invalid('payload', /object/)),
  event('a time beyond time', { timestamp: 1e300 }, invalid('timestamp', /number|Unix/)),
  event(
    'an unknown kind of question',
    { humanInTheLoop: { question: 'May I?', type: 'telepathy' } },
    invalid('humanInTheLoop.type', /permission, question or choice/),
  ),
  event(
    'an unknown level of risk',
    { humanInTheLoop: { question: 'May I?', type: 'permission', risk: 'apocalyptic' } },
    invalid('humanInTheLoop.risk', /low/),
  ),
  event(
    'an empty question',
    { humanInTheLoop: { question: ' \n ', type: 'permission' } },
    invalid('humanInTheLoop.question', /empty/),
  ),
  event(
    'a question of a megabyte',
    { humanInTheLoop: { question: 'x'.repeat(MEGABYTE), type: 'question' } },
    invalid('humanInTheLoop.question', /longer/),
  ),
  event(
    'an address with a script',
    {
      humanInTheLoop: { question: 'May I?', type: 'permission', responseWebSocketUrl: 'javascript:alert(1)' },
    },
    invalid('humanInTheLoop.responseWebSocketUrl', /ws/),
  ),
  event(
    'arguments to edit that are a text',
    {
      humanInTheLoop: {
        question: 'May I?',
        type: 'permission',
        toolCall: { name: 'Bash', arguments: 'ls', editable: true },
      },
    },
    invalid('humanInTheLoop.toolCall.arguments', /object/),
  ),
  event(
    'a tool call without a name',
    { humanInTheLoop: { question: 'May I?', type: 'permission', toolCall: { name: '' } } },
    invalid('humanInTheLoop.toolCall.name', /required/),
  ),
  event(
    'the same label twice',
    { humanInTheLoop: { question: 'Which?', type: 'choice', choices: ['a', 'a'] } },
    invalid('humanInTheLoop.choices', /twice/),
  ),
  event(
    'a label that is reserved',
    { humanInTheLoop: { question: 'Which?', type: 'choice', choices: ['__timeout__'] } },
    invalid('humanInTheLoop.choices', /reserved/),
  ),
]

/** Invalid UTF-8: an overlong slash, a truncated rune, a surrogate. */
function invalidUtf8(): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...base, summary: '########' }))
  bytes.set([0xc0, 0xaf, 0xe2, 0x82, 0xed, 0xa0, 0x80, 0xff], bytes.indexOf(0x23))
  return bytes
}

export const hostileInputs: HostileInput[] = [...textInputs, ...payloadInputs, ...rejectedInputs]

/** The inputs that the hub accepts and the dashboard must render. */
export const acceptedInputs: HostileInput[] = hostileInputs.filter((input) => !input.rejection)
