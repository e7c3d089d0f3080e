// Requests as coding agents' hooks ask them.
import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import asking from '../../../../agentclient/hook/testdata/claude-code-PermissionRequest-AskUserQuestion.json'
import bash from '../../../../agentclient/hook/testdata/claude-code-PermissionRequest-Bash.json'
import { codingAgent, codingAgents } from '../../lib/format/codingAgents'
import { live, shortcuts } from '../../lib/stream/liveState.svelte'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest } from '../../testing/factories'
import type { Event, HumanInTheLoop, JsonObject, Response, Status } from '../../lib/api/types'
import RequestDetail from './RequestDetail.svelte'
import { callPreview } from '../../lib/format/callPreview'
import { lazyBundle } from './lazyBundle.svelte'
import { describeSuggestion } from './suggestion'
import { agentMessage } from './agentMessage'
import { resolvedBy, requestOutcome } from '../../lib/format/outcome'

vi.stubGlobal('fetch', (path: string) => {
  const led = { before: [], earlier: { approved: 0, denied: 0, other: 0 } }
  return Promise.resolve(new globalThis.Response(JSON.stringify(path.endsWith('/context') ? led : [])))
})

let id = 500
/** A question of Claude Code's, as its hook posts it. */
function ask(question: Partial<HumanInTheLoop>, more: Partial<Event> = {}, status: Partial<Status> = {}) {
  return { ...aRequest(++id, question, status), agent: 'claude-code', ...more }
}
const asRequest = (e: Event, more: Partial<Request> = {}) => ({ ...(toRequest(e) as Request), ...more })

let sent: Response[]
function show(e: Event) {
  const props = {
    request: asRequest(e),
    focus: false,
    answer: (what: Response) => Promise.resolve(sent.push(what) > 0),
    cancel: () => Promise.resolve(true),
  }
  return render(RequestDetail, props)
}
/** The same event with a newer status. */
const now = (e: Event, status: Partial<Status>) =>
  asRequest({ ...e, humanInTheLoopStatus: { status: 'pending', revision: 9, ...status } })
const press = (key: string) => fireEvent.keyDown(document.activeElement ?? document.body, { key })

let stop: () => void
beforeAll(() => lazyBundle.load())
beforeEach(() => {
  sent = []
  vi.spyOn(document, 'hasFocus').mockReturnValue(true)
  stop = shortcuts.listen(window)
  shortcuts.endGrace()
})
afterEach(() => {
  cleanup()
  stop()
})

describe('Coding agent', () => {
  it('has a display name, and an unknown one keeps its own', () => {
    expect(codingAgents().map((a) => a.id)).toHaveLength(13)
    expect(new Set(codingAgents().map((a) => a.mark)).size).toBe(13)
    expect(codingAgent('claude-code')).toMatchObject({ name: 'Claude Code', mark: 'CC' })
    expect(codingAgent('constructor')).toEqual({ id: 'constructor', name: 'constructor', mark: '' })
  })

  it('is shown on its request, with a note if its own prompt is open too', () => {
    const races = () => screen.getByTestId('open-at-agent').textContent?.replace(/\s+/g, ' ')
    show(ask({ alsoAsked: true }))
    expect(screen.getByText('Claude Code')).toBeTruthy()
    expect(races()).toContain('Also open in Claude Code’s own window: the first answer wins.')
    cleanup()
    show(ask({}, { hook_event_type: 'PermissionRequest' })) // headless, so it has no window
    expect(screen.queryByTestId('open-at-agent')).toBeNull()
    cleanup()
    show(ask({ alsoAsked: true }, { agent: '' }))
    expect(races()).toContain('the agent’s own window')
  })
})

describe('Request of a subagent', () => {
  it('counts down to the prompt in the terminal, which no one can postpone', () => {
    const after = () => screen.getByTestId('prompt-after').textContent?.replace(/\s+/g, ' ').trim()
    const asked = { uid: undefined, timestamp: live.now - 13_000 }
    show(ask({ promptAfter: 120 }, asked, { expiresAt: live.now + 107_000 }))
    expect(after()).toBe('Claude Code asks in its terminal in 1:47.')
    expect(screen.queryByRole('button', { name: /^Extend/ })).toBeNull()
    expect(screen.queryByTestId('open-at-agent')).toBeNull()
    cleanup()
    show(ask({ promptAfter: 13 }, { ...asked, agent: '' }))
    expect(after()).toBe('The agent asks in its terminal now.')
  })
})

describe('AskUserQuestion', () => {
  const questions = asking.tool_input.questions.map((q, i) => ({
    id: String(i + 1),
    question: q.question,
    header: q.header,
    options: q.options,
    multiple: q.multiSelect,
    allowOther: true,
  }))
  const event = (n: number) =>
    ask(
      { type: 'question', question: questions[0]!.question, questions: questions.slice(0, n) },
      { tool_name: 'AskUserQuestion', payload: asking as unknown as JsonObject },
    )

  it('is answered by digits, free text and one key to send', async () => {
    show(event(2))
    expect(screen.queryByText('Raw JSON')).toBeNull() // the questions are all there is
    await press('2')
    await press('1')
    await fireEvent.input(screen.getByLabelText(/^Another answer to: Which extras/), {
      target: { value: 'Docs' },
    })
    await fireEvent.keyDown(document.body, { key: 'Enter', ctrlKey: true })
    expect(sent).toEqual([{ answers: { 1: 'Postgres', 2: ['Migrations', 'Docs'] } }])
  })

  it('with one single-select question is answered by one key', async () => {
    show(event(1))
    expect(screen.getAllByRole('radio')).toHaveLength(questions[0]!.options.length)
    await press('2')
    expect(sent).toEqual([{ answers: { 1: questions[0]!.options[1]!.label } }])
  })

  it('shows a single question once, with previews of its options', () => {
    const e = event(1)
    e.humanInTheLoop!.questions![0]!.options = [
      { label: 'A', preview: 'drawn <b>' } as never,
      { label: 'B', preview: { not: 'text' } } as never,
    ]
    const { container } = show(e)
    expect(container.querySelector('legend .sr-only')?.textContent).toBe(questions[0]!.question)
    expect([...container.querySelectorAll('.preview')].map((p) => p.textContent)).toEqual(['drawn <b>'])
  })
})

describe('Plan', () => {
  const plan = '# Move it\n\n1. Add **one** table\n2. `drop` the other'
  const event = (tool = 'ExitPlanMode') =>
    ask({
      question: `Go ahead with this plan?\n\n${plan}`,
      toolCall: { name: tool, arguments: { plan, planFilePath: '/p.md' } },
    })

  it('is rendered once as Markdown, and sent back with the requested changes', async () => {
    const { container } = show(event())
    await vi.waitFor(() =>
      expect(container.querySelector('[data-testid=plan] strong')?.textContent).toBe('one'),
    )
    expect(container.textContent.split('Move it')).toHaveLength(2)
    expect(screen.getByText('/p.md')).toBeTruthy()
    await fireEvent.click(screen.getByRole('button', { name: /^Ask for changes/ }))
    await fireEvent.input(screen.getByLabelText(/change in the plan/), { target: { value: 'Smaller steps' } })
    await fireEvent.click(screen.getByRole('button', { name: /^Ask for changes with this feedback/ }))
    expect(sent).toEqual([{ permission: false, reason: 'Smaller steps' }])
  })

  it('is an ordinary argument of other tools', () => {
    expect(callPreview(event('Bash'))?.plan).toBeUndefined()
    expect(callPreview(event('Bash'))?.rest.map(([name]) => name)).toContain('plan')
  })
})

describe('describeSuggestion', () => {
  const rules = [{ toolName: 'Bash', ruleContent: 'psql:*' }]
  it.each<[unknown, string]>([
    [bash.permission_suggestions[0], 'Always allow|Bash(psql:*)|in this project, for you only'],
    [bash.permission_suggestions[1], 'Accept all file edits||until this session ends'],
    [
      { type: 'removeRules', behavior: 'deny', rules, destination: 'userSettings' },
      'No longer always deny|Bash(psql:*)|in all your projects',
    ],
    [{ type: 'replaceRules', behavior: 'allow', rules }, 'Replace all allow rules with:|Bash(psql:*)|'],
    [
      { type: 'addDirectories', directories: ['/x'], destination: 'session' },
      'Also work in these directories without asking:|/x|until',
    ],
    [{ type: 'removeDirectories', directories: ['/x'] }, 'No longer work in|/x|'],
    [{ type: 'addRules', behavior: 'constructor', rules }, 'Remember|{"type"'],
    [{ type: 'blessRules', behavior: 'allow', rules }, 'Remember|{"type"'],
    [{ type: 'setMode', mode: 'toString' }, 'Switch to mode|toString|'],
  ])('describes the verb, patterns and scope of %j', (offer, says) => {
    const { verb, patterns, scope } = describeSuggestion(offer)
    expect(
      `${verb}|${patterns.join()}|${scope}`.startsWith(says),
      `${verb}|${patterns.join()}|${scope}`,
    ).toBe(true)
  })

  it('marks a suggestion that allows everything', () => {
    expect(describeSuggestion({ type: 'setMode', mode: 'bypassPermissions' }).wide).toBe(true)
    expect(describeSuggestion({ type: 'setMode', mode: 'plan' }).wide).toBe(false)
  })
})

describe('Request settled at the agent', () => {
  const ended = (source: Status['source'], reason?: string) =>
    ({ status: 'error', outcome: '__cancelled__', source, reason }) as Partial<Status>
  it.each<[Partial<Status>, string, string, RegExp]>([
    [
      ended('agent', 'answered in the terminal'),
      'Answered in the terminal',
      'a person at the agent',
      /decided there/,
    ],
    [ended('agent', 'the agent went on'), 'Settled at the agent', 'a person at the agent', /decided there/],
    [
      ended('orphaned', 'the agent is gone'),
      'The agent is gone',
      'the agent disconnecting',
      /no longer connected/,
    ],
    [
      ended('dismissed', 'dismissed in the agent'),
      'Dismissed in the agent',
      'a person at the agent',
      /dismissed the request in the agent/,
    ],
    [ended('session_end'), 'The session ended', 'the end of the session', /no longer connected/],
    [
      ended('superseded'),
      'Replaced by a newer request',
      'a newer request of the agent',
      /answer to its newer request/,
    ],
    [ended('human', 'answered in the terminal'), 'Canceled', 'unknown', /canceled/],
  ])('%j has an outcome, a responder and a message', (status, word, by, told) => {
    const r = asRequest(ask({}, {}, status))
    expect([requestOutcome(r).label, resolvedBy(r)]).toEqual([word, by])
    expect(agentMessage(r)).toMatch(told)
  })

  it('links to the request that replaced it', async () => {
    show(ask({}, {}, { ...ended('superseded'), supersededBy: 42 }))
    const note = await screen.findByTestId('superseded-by')
    expect(note.querySelector('a')?.getAttribute('href')).toBe('/inbox/42')
  })

  it('keeps the unsent draft visible and focused', async () => {
    const e = ask({ type: 'question', question: 'Name?' })
    const { rerender } = show(e)
    const box = screen.getByLabelText('Your answer')
    box.focus()
    await fireEvent.input(box, { target: { value: 'half a sen' } })
    await rerender({ request: now(e, ended('agent', 'answered in the terminal')) })
    const kept = (await screen.findByLabelText(/^Your draft was not sent/)) as HTMLTextAreaElement
    expect(kept.value).toBe('half a sen')
    await vi.waitFor(() => expect(document.activeElement).toBe(kept))
    expect(screen.getByTestId('settled').textContent).toContain('Answered in the terminal')
    await fireEvent.click(screen.getByRole('button', { name: 'Discard' }))
    expect(screen.queryByTestId('unsent-draft')).toBeNull()
  })

  it('keeps unsent edits, and nothing after an accepted answer', async () => {
    const args = { command: 'ls', timeout: 5 }
    const e = ask({ toolCall: { name: 'Bash', editable: true, arguments: args } })
    const { rerender } = show(e)
    await press('e')
    await fireEvent.input(screen.getByLabelText('command'), { target: { value: 'ls -l' } })
    await rerender({ request: now(e, ended('orphaned')) })
    expect(screen.queryByTestId('delivery-steps')).toBeNull() // no longer connected to have it
    expect(((await screen.findByLabelText(/^Your draft was/)) as HTMLTextAreaElement).value).toBe(
      'command: ls -l',
    )
    cleanup()
    const mine = ask({}, {}, { status: 'responded', outcome: 'approve' })
    show(mine)
    expect(screen.queryByTestId('unsent-draft')).toBeNull()
  })
})

describe('Appeal', () => {
  const appeal = { by: 'Claude Code auto mode', reason: 'It deletes files <b>outside</b> the task.' }
  const call = { name: 'Bash', arguments: { command: 'rm -rf build' } }

  it('quotes the refusal, and offers to run the call once and nothing that lasts', async () => {
    show(ask({ appeal, toolCall: call }, { hook_event_type: 'PermissionDenied' }))
    const note = screen.getByTestId('appeal')
    expect(note.textContent).toContain('Refused by Claude Code auto mode')
    expect(note.querySelector('blockquote')?.textContent).toBe(appeal.reason)
    expect(note.querySelector('b')).toBeNull()
    expect(screen.getByRole('button', { name: /Keep refused/ })).toBeDefined()
    expect(screen.queryByText(/Always/)).toBeNull()
    await press('d')
    expect(screen.queryByText(/rest of this session/)).toBeNull()
    // The hook prints nothing when the refusal counts: a reason is a message to the session.
    expect(screen.queryByPlaceholderText(/The agent reads this/)).toBeNull()
    expect(screen.getByLabelText('Why should it stay refused?')).toBeDefined()
  })
})
