import { cleanup, fireEvent, render, screen } from '@testing-library/svelte'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { shortcuts } from '../../lib/stream/liveState.svelte'
import { toRequest, type Request } from '../../lib/stream/requests'
import { settings } from '../../lib/page/settings.svelte'
import type { CallView } from '../../lib/api/schema'
import { aRequest, commandView } from '../../testing/factories'
import type { HumanInTheLoop, Response, Status } from '../../lib/api/types'
import RequestDetail from './RequestDetail.svelte'
import { lazyBundle } from './lazyBundle.svelte'

let sent: Response[]
let cancelled: string[]
let take: boolean
let id = 0

const NO_CONTEXT = { before: [], earlier: { approved: 0, denied: 0, other: 0 } }
vi.stubGlobal('fetch', (path: string) =>
  Promise.resolve(new globalThis.Response(JSON.stringify(path.endsWith('/context') ? NO_CONTEXT : []))),
)
vi.spyOn(document, 'hasFocus').mockReturnValue(true)

function show(question: Partial<HumanInTheLoop>, status: Partial<Status> = {}, more: Partial<Request> = {}) {
  const request = { ...(toRequest(aRequest(++id, question, status)) as Request), ...more }
  return render(RequestDetail, {
    request,
    focus: false,
    answer: async (what: Response) => {
      sent.push(what)
      return take
    },
    cancel: async (reason: string) => {
      cancelled.push(reason)
      return take
    },
  })
}

const press = (key: string, more: KeyboardEventInit = {}) =>
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more })
const click = (name: RegExp | string) => fireEvent.click(screen.getByRole('button', { name }))
const type = (label: RegExp, value: string) =>
  fireEvent.input(screen.getByLabelText(label), { target: { value } })

let stop: () => void
beforeAll(() => lazyBundle.load())
beforeEach(() => {
  ;[sent, cancelled, take] = [[], [], true]
  vi.spyOn(document, 'hasFocus').mockReturnValue(true)
  stop = shortcuts.listen(window)
  shortcuts.endGrace()
})
afterEach(() => {
  cleanup()
  stop()
  settings.confirm = 'hold'
})

describe('Deny and stop', () => {
  it('ends the turn of an interruptible agent with Shift+S', async () => {
    show({ interruptible: true })
    await press('S', { shiftKey: true })
    expect(sent).toEqual([{ permission: false, interrupt: true }])
  })

  it('is not offered to other agents, or for a vote', async () => {
    show({})
    await press('S', { shiftKey: true })
    cleanup()
    show({ interruptible: true, requiredApprovals: 2 })
    await press('S', { shiftKey: true })
    expect(sent).toEqual([])
    expect(screen.queryByRole('button', { name: /Deny and stop/ })).toBeNull()
  })
})

describe('Ask back', () => {
  it('denies with a question', async () => {
    show({})
    await press('q')
    const send = screen.getByRole<HTMLButtonElement>('button', { name: /Deny and ask why/ })
    expect(send.disabled).toBe(true)
    await type(/What do you want to know/, ' Why a force push? ')
    await click(/Deny and ask why/)
    expect(sent).toEqual([{ permission: false, askBack: 'Why a force push?' }])
  })

  it('is not offered for a vote or an appeal', async () => {
    show({ requiredApprovals: 2 })
    expect(screen.queryByRole('button', { name: /Ask back/ })).toBeNull()
    cleanup()
    show({ appeal: { by: 'auto mode' } })
    expect(screen.queryByRole('button', { name: /Ask back/ })).toBeNull()
  })
})

describe('Permission', () => {
  it('is approved with A, and denied immediately with Shift+D', async () => {
    show({ toolCall: { name: 'Bash', arguments: { command: 'ls' } } })
    await press('a')
    await press('D', { shiftKey: true })
    expect(sent).toEqual([{ permission: true }, { permission: false }])
  })

  it('is denied with a reason by D, text, Ctrl+Enter', async () => {
    show({})
    await press('d')
    const box = await screen.findByLabelText(/instead/)
    await vi.waitFor(() => expect(document.activeElement).toBe(box))
    await type(/instead/, ' use the copy ')
    await press('a') // written, not decided
    await fireEvent.keyDown(box, { key: 'Enter', ctrlKey: true })
    expect(sent).toEqual([{ permission: false, reason: 'use the copy' }])
  })

  it('requires a reason if the agent does', async () => {
    show({ reasonRequired: 'deny' })
    await press('D', { shiftKey: true })
    expect(sent).toEqual([])
    expect((screen.getByRole('button', { name: /^Deny/ }) as HTMLButtonElement).disabled).toBe(true)
    await type(/instead/, 'no')
    await click(/^Deny with this reason/)
    expect(sent).toEqual([{ permission: false, reason: 'no' }])
  })

  it('shows the whole commit, which the approval is for', () => {
    const commit = '8f14e45fceea167a5a36dedd4bea2543c1d2e3f4'
    show({ context: { branch: 'main', commit } })
    expect(screen.getByTestId('commit').textContent).toBe(`commit ${commit}`)
  })

  it('if risky, is approved by a hold, not by a tap or a click', async () => {
    vi.useFakeTimers()
    show({ risk: 'high' })
    await press('a')
    await fireEvent.keyUp(window, { key: 'a' })
    await click(/^Approve/)
    vi.advanceTimersByTime(5000)
    expect(sent).toEqual([])
    await press('a')
    vi.advanceTimersByTime(700)
    expect(sent).toEqual([{ permission: true }])
  })

  it('if risky, can be approved by a second press instead', async () => {
    settings.confirm = 'twice'
    show({ risk: 'critical' })
    await press('a')
    expect(sent).toEqual([])
    await press('a')
    expect(sent).toEqual([{ permission: true }])
  })

  it('is approved with all edited arguments and their types', async () => {
    show({ toolCall: { name: 'Bash', editable: true, arguments: { command: 'rm a', n: 1, deep: [1] } } })
    await press('e')
    await type(/command/, 'rm b')
    await type(/^n$/, '2')
    expect(screen.getAllByLabelText('What changed')[0]?.textContent).toContain('b')
    await click(/^Approve with 2 edits/)
    expect(sent).toEqual([{ permission: true, modifiedArguments: { command: 'rm b', n: 2, deep: [1] } }])
  })

  it('rejects edits with invalid JSON or a redacted secret', async () => {
    show({ toolCall: { name: 'X', editable: true, arguments: { deep: [1], key: '[redacted:token]' } } })
    await press('e')
    await type(/deep/, '[')
    expect(screen.getByRole('alert').textContent).toContain('not valid JSON')
    expect((screen.getByRole('button', { name: /^Approve/ }) as HTMLButtonElement).disabled).toBe(true)
    await type(/deep/, '[2]')
    expect((screen.getByRole('button', { name: /^Approve/ }) as HTMLButtonElement).disabled).toBe(true)
    await type(/key/, 'mine')
    await click(/^Approve with 2 edits/)
    expect(sent).toEqual([{ permission: true, modifiedArguments: { deep: [2], key: 'mine' } }])
  })

  it('can be edited only if the agent allows it', async () => {
    show({ toolCall: { name: 'Bash', arguments: { command: 'ls' } } })
    await press('e')
    expect(screen.queryByRole('button', { name: /Edit/ })).toBeNull()
  })

  it('sends a suggestion if it is checked', async () => {
    const rule = { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent: 'ls:*' }] }
    show({ suggestions: [rule] })
    await fireEvent.click(screen.getByLabelText(/Always allow Bash\(ls:\*\)/))
    await press('a')
    expect(sent).toEqual([{ permission: true, remember: rule }])
  })

  it('shows the whole command, including invisible characters', () => {
    const command = 'echo ok\u202e\n'.repeat(50) + 'end-of-it'
    show({ toolCall: { name: 'Bash', arguments: { command } } })
    const text = screen.getByLabelText('What will happen').textContent ?? ''
    expect(text).toContain('end-of-it')
    expect(text).toContain('50 invisible characters')
    expect(text).toContain('RLO')
  })

  it('ignores keys briefly after it appears by itself', async () => {
    show({})
    shortcuts.startGrace()
    await press('a')
    await click(/^Approve/)
    expect(sent).toEqual([])
  })
})

describe('Quick reasons', () => {
  const bash: Partial<HumanInTheLoop> = { toolCall: { name: 'Bash', arguments: { command: 'make' } } }
  afterEach(() => localStorage.removeItem('hookback.reasons'))

  it('deny with one click or key, also from the empty text field', async () => {
    take = false // the form stays open
    show(bash)
    await press('d')
    await click(/^Not needed/)
    await type(/What should the agent do instead/, '')
    await press('2')
    expect(sent).toEqual([
      { permission: false, reason: 'Not needed.' },
      { permission: false, reason: 'Too risky. Find a safer way.' },
    ])
  })

  it('leave a typed text and every character of a Mac keyboard alone', async () => {
    show(bash)
    await press('d')
    const box = screen.getByLabelText<HTMLTextAreaElement>(/What should the agent do instead/)
    const option = [...'#@€[{¡™£¢“¶1'].map((key, i) => ({ key, code: `Digit${(i % 4) + 1}`, altKey: true }))
    for (const typed of ['', 'see issue ', ' ']) {
      await type(/What should the agent do instead/, typed)
      for (const { key, ...more } of option) {
        expect(await press(key, more)).toBe(true) // not canceled: the character is typed
        expect(box.value).toBe(typed)
      }
    }
    expect(await press('3')).toBe(true)
    expect(screen.getByRole<HTMLButtonElement>('button', { name: /^Not needed/ }).disabled).toBe(true)
    expect(sent).toEqual([])
  })

  it('ignore digits in other text fields', async () => {
    show(bash)
    await press('d')
    const search = document.body.appendChild(document.createElement('input'))
    search.focus()
    await press('2')
    search.remove()
    expect(sent).toEqual([])
  })

  it('ask the agent back with one key', async () => {
    show(bash)
    await press('q')
    await press('3')
    expect(sent).toEqual([{ permission: false, askBack: 'Can it be undone?' }])
  })

  it('offer the newest own reasons for the same tool first', async () => {
    for (const reason of ['Use make clean.', 'Wait for the release.', 'Use make clean.']) {
      show(bash)
      await press('d')
      await type(/What should the agent do instead/, reason)
      await click(/^Deny with this reason/)
      cleanup()
    }
    show(bash)
    await press('d')
    const names = () => [...screen.getByTestId('reasons').querySelectorAll('.text')].map((e) => e.textContent)
    expect(names()).toEqual([
      'Use make clean.',
      'Wait for the release.',
      'Not needed.',
      'Too risky. Find a safer way.',
    ])
    cleanup()
    show({ toolCall: { name: 'Write', arguments: {} } })
    await press('d')
    expect(names()[0]).toBe('Not needed.')
  })
})

describe('Choice', () => {
  const framework: Partial<HumanInTheLoop> = { type: 'choice', choices: ['Jest', 'Vitest'] }

  it('offers no text by default', async () => {
    show(framework)
    await press('r')
    expect(screen.queryByLabelText('Your answer')).toBeNull()
  })

  it('is answered by a text after R if the agent allows it, and by digits', async () => {
    show({ ...framework, allowOther: true })
    await press('r')
    const box = screen.getByLabelText('Your answer')
    expect(document.activeElement).toBe(box)
    await press('2')
    expect(sent).toEqual([])
    await type(/Your answer/, 'Mocha')
    await fireEvent.keyDown(box, { key: 'Enter', ctrlKey: true })
    expect(sent).toEqual([{ response: 'Mocha' }])
    await press('Escape')
    await press('2')
    expect(sent[1]).toEqual({ choice: 'Vitest' })
  })

  it('sends a text that is one of the labels as that choice', async () => {
    show({ ...framework, allowOther: true })
    await press('r')
    await type(/Your answer/, ' Jest ')
    await click(/^Send/)
    expect(sent).toEqual([{ choice: 'Jest' }])
  })
})

describe('Question', () => {
  it('is answered by R, text, Ctrl+Enter, and keeps the draft on failure', async () => {
    take = false
    show({ type: 'question', question: 'Name?\nIt must be **short**.' })
    await press('r')
    const box = screen.getByLabelText('Your answer')
    expect(document.activeElement).toBe(box)
    await type(/Your answer/, 'a, 1\nb')
    await fireEvent.keyDown(box, { key: 'Enter', ctrlKey: true })
    expect(sent).toEqual([{ response: 'a, 1\nb' }])
    expect((box as HTMLTextAreaElement).value).toBe('a, 1\nb')
    expect(sessionStorage.getItem(`hookback.draft.${id}`)).toContain('a, 1')
  })

  it('with several parts, is sent once each has an answer', async () => {
    show({
      type: 'question',
      questions: [
        { id: 'q1', question: 'Which?', options: [{ label: 'A', description: 'the first' }, { label: 'B' }] },
        {
          id: 'q2',
          question: 'Any?',
          options: [{ label: 'X' }, { label: 'Y' }],
          multiple: true,
          allowOther: true,
        },
        { id: 'q3', question: 'Name?' },
      ],
    })
    await press('2')
    await press('1')
    await fireEvent.input(screen.getByLabelText(/Another answer to: Any/), { target: { value: 'Z' } })
    expect((screen.getByRole('button', { name: /Send 3/ }) as HTMLButtonElement).disabled).toBe(true)
    await type(/Answer to: Name/, 'it')
    await click(/Send 3 answers/)
    expect(sent).toEqual([{ answers: { q1: 'B', q2: ['X', 'Z'], q3: 'it' } }])
  })
})

describe('Conversation', () => {
  it('quotes the prompt and the last words of the agent, which can be expanded', async () => {
    const last = 'I will drop the table.\n'.repeat(10)
    show({ context: { userPrompt: 'Tidy up', lastMessage: last, why: 'Drop it' } })
    expect(screen.getByTestId('your-prompt').textContent).toContain('Tidy up')
    const says = screen.getByTestId('agent-says')
    expect(says.textContent).toContain(last.trim())
    expect(says.textContent).toContain('Drop it')
    expect(says.querySelector('.clamped')).not.toBeNull()
    await click(/Show all/)
    expect(says.querySelector('.clamped')).toBeNull()
  })
})

describe('Choice', () => {
  it('is made by a digit or a click, with or without a comment', async () => {
    show({ type: 'choice', choices: ['Jest', 'Vitest'] })
    await press('2')
    await press('c')
    await type(/Comment/, 'for now')
    await click(/Jest/)
    expect(sent).toEqual([{ choice: 'Vitest' }, { choice: 'Jest', comment: 'for now' }])
  })

  it('has no key for an option that does not exist', async () => {
    show({ type: 'choice', choices: ['Jest', 'Vitest'] })
    await press('3')
    expect(sent).toEqual([])
  })
})

describe('Risk', () => {
  const findings = [
    {
      code: 'pipe_to_shell',
      risk: 'critical',
      text: 'Runs what it downloads.',
      at: '/command',
      excerpt: 'curl x | sh',
    },
    { code: 'sudo', risk: 'high', text: 'Acts as root.', at: '/command', excerpt: 'sudo' },
  ] as const

  it('is highlighted in the command and explained', () => {
    const command = 'sudo true && curl x | sh # curl x | sh'
    show(
      { risk: 'low', toolCall: { name: 'Bash', arguments: { command } } },
      { risk: 'critical', findings: [...findings] },
    )
    const preview = screen.getByLabelText('What will happen')
    expect([...preview.querySelectorAll('mark')].map((m) => m.textContent)).toEqual([
      'sudo',
      'curl x | sh',
      'curl x | sh',
    ])
    expect(preview.textContent).toContain(command)
    const risk = screen.getByTestId('risk').textContent ?? ''
    for (const part of [
      'Low, says the agent',
      'Hookback found:',
      'Critical',
      'High',
      'Runs what it downloads.',
      'Acts as root.',
    ])
      expect(risk).toContain(part)
  })

  it('names the parts that can’t be read, and marks them and the programs', () => {
    const unread = { at: '/command', from: 8, to: 13, reason: 'the program is known only at run time' }
    const view: CallView = {
      ...commandView,
      commands: [
        { at: '/command', to: 4, program: 'echo' },
        { at: '/command', from: 8, to: 13, program: '…' },
      ],
      unread: [
        unread,
        { ...unread, from: 15, to: 20 },
        { at: '/mode', reason: 'the argument mode is there twice' },
      ],
      omitted: 3,
    }
    const args = { command: 'echo 😀;$TOOL; $TOOL', mode: 'x' }
    show({ toolCall: { name: 'Bash', arguments: args } }, { view })
    const preview = screen.getByLabelText('What will happen')
    expect(screen.getByTestId('unread').textContent.trim()).toBe(
      'This call can’t be read completely: the program is known only at run time; the argument mode is there twice. 3 more parts are not marked.',
    )
    const texts = (selector: string) => [...preview.querySelectorAll(selector)].map((m) => m.textContent)
    expect(texts('mark')).toEqual(['$TOOL', '$TOOL', 'x'])
    expect(texts('.program')).toEqual(['echo', '$TOOL'])
    expect(preview.querySelector('code')?.textContent).toBe(args.command)
  })

  it.each<[string, Partial<Status>]>([
    ['with findings', { risk: 'critical', findings: [...findings] }],
    ['without findings', {}],
  ])('never shows a word of the agent next to the hub’s, %s', (_, status) => {
    const words = 'Hookback checked this: SAFE, low risk'
    show(
      {
        risk: 'medium',
        question: `${words} Q`,
        toolCall: {
          name: `${words} N`,
          arguments: { command: `echo "${words} C"`, description: `${words} D` },
        },
        context: { why: `${words} W`, lastMessage: `${words} L`, userPrompt: `${words} P` },
      },
      status,
    )
    expect(screen.getByTestId('risk').textContent).not.toContain('SAFE')
    const says = screen.getByTestId('agent-says')
    expect(says.textContent).toContain(`${words} W`)
    expect(says.textContent).toContain(`${words} L`)
    expect(says.textContent).toContain('Agent says')
    expect(says.querySelector('svg')).toBeNull()
    if (!status.findings) expect(screen.getByTestId('risk').textContent).toMatch(/Medium, says the agent/)
  })

  it('requires a hold if the hub assesses it, regardless of the agent', async () => {
    vi.useFakeTimers()
    show({ risk: 'low' }, { risk: 'high', findings: [findings[1]] })
    await press('a')
    await fireEvent.keyUp(window, { key: 'a' })
    vi.advanceTimersByTime(5000)
    expect(sent).toEqual([])
  })
})

describe('Long call', () => {
  it('is truncated with a note, and not approved before it is shown in full', async () => {
    const command = 'echo ok\n'.repeat(9000) + 'rm -rf ~'
    show({ toolCall: { name: 'Bash', arguments: { command } } }, { view: commandView })
    const preview = screen.getByLabelText('What will happen')
    expect(preview.textContent).not.toContain('rm -rf ~')
    expect(preview.textContent).toContain('Showing the first')
    await press('a')
    expect(sent).toEqual([])
    expect(preview.textContent).toContain('rm -rf ~')
    await vi.waitFor(async () => {
      await press('a')
      expect(sent).toEqual([{ permission: true }])
    })
  })

  it('can have thousands of arguments', async () => {
    const args = Object.fromEntries(Array.from({ length: 600 }, (_, i) => [`k${i}`, i]))
    show({ toolCall: { name: 'X', arguments: args } })
    const preview = screen.getByLabelText('What will happen')
    expect(preview.querySelectorAll('dt')).toHaveLength(200)
    await click('Show all arguments')
    expect(preview.querySelectorAll('dt')).toHaveLength(600)
  })
})

describe('Unknown kind', () => {
  it('is shown and can be canceled', async () => {
    show({ type: 'plan' as never, question: 'Go on like this?' })
    expect(screen.getByRole('heading', { level: 1 }).textContent).toBe('Go on like this?')
    expect(screen.getByTestId('detail').textContent).toContain('does not support requests of the kind “plan”')
    await press('X', { shiftKey: true })
    await fireEvent.keyDown(screen.getByLabelText(/Why/), { key: 'Enter', ctrlKey: true })
    expect(cancelled).toEqual([''])
  })
})

describe('Request', () => {
  it('is canceled by Shift+X, a reason, Ctrl+Enter', async () => {
    show({})
    await press('X', { shiftKey: true })
    await type(/Why/, 'not today')
    await fireEvent.keyDown(screen.getByLabelText(/Why/), { key: 'Enter', ctrlKey: true })
    expect(cancelled).toEqual(['not today'])
  })

  it('shows why the hub rejected the answer, and can be answered again', async () => {
    show(
      {},
      {},
      { problem: { type: '', title: '', status: 503, code: 'busy', detail: 'too much to do', error: '' } },
    )
    expect(screen.getByRole('alert').textContent).toContain('too much to do')
    await press('a')
    expect(sent).toEqual([{ permission: true }])
  })

  it('says whether the call of a later approval has run', async () => {
    const toolCall = { name: 'Bash', arguments: { command: 'ls' } }
    const ask = { toolCall, appeal: { by: 'the Hookback policy', later: true } }
    const approved = { status: 'responded', outcome: 'approve', source: 'human' } as const
    show(ask, { ...approved, respondedAt: Date.now() - 60_000 })
    expect((await screen.findByTestId('later-grant')).textContent).toContain('It has not run yet.')
    cleanup()
    show(ask, { ...approved, respondedAt: Date.now() - 3_601_000 })
    expect((await screen.findByTestId('later-grant')).textContent).toContain('the approval has ended')
    cleanup()
    show(ask, { ...approved, respondedAt: Date.now(), execution: { state: 'succeeded', eventId: 7 } })
    expect(screen.queryByTestId('later-grant')).toBeNull()
  })

  it('once settled, ignores keys, has no buttons, and shows the responder and the delivery', async () => {
    show(
      {},
      {
        status: 'responded',
        outcome: 'deny',
        source: 'human',
        respondedAt: 1,
        respondedBy: {
          name: 'mara',
          verified: false,
          possibleSelfApproval: true,
        },
        delivery: {
          state: 'blocked',
          attempts: 1,
          lastError: 'the hub may not dial this address: 10.0.0.7 is not allowed; see -callback-allow',
        },
      },
      { problem: { type: '', title: '', status: 409, code: 'decided', error: '' } },
    )
    const text = screen.getByTestId('settled').textContent ?? ''
    for (const part of [
      'Denied',
      'mara was faster',
      'unverified',
      '-callback-allow',
      'The answer is kept here. 10.0.0.7 is not allowed',
    ])
      expect(text).toContain(part)
    expect(text).not.toContain('Possible self-approval') // a denial grants nothing
    await press('a')
    expect(sent).toEqual([])
    expect(screen.queryByRole('button', { name: /Approve/ })).toBeNull()
  })

  it('warns of an approval by the program that asked', () => {
    const by = { name: 'mara', verified: false, possibleSelfApproval: true }
    show({}, { status: 'responded', outcome: 'approve', source: 'human', respondedAt: 1, respondedBy: by })
    expect(screen.getByTestId('settled').textContent).toContain('Possible self-approval')
  })

  it('renders the prompt, whose links are text', async () => {
    const { container } = show({
      question: '## Ship 7?\n\nIt **removes**:\n- a\n- b\n\n[notes](https://evil.example/)',
    })
    expect(screen.getByRole('heading', { level: 1 }).textContent?.trim()).toBe('Ship 7?')
    await vi.waitFor(() => expect(container.querySelector('strong')?.textContent).toBe('removes'))
    expect(container.querySelectorAll('.body li')).toHaveLength(2)
    expect(container.querySelector('.body a')).toBeNull()
    expect(container.textContent).toContain('notes (https://evil.example/)')
  })

  it('renders everything an agent sends as text', () => {
    const { container } = show({
      question: '<img src=x onerror=alert(1)> <b>hi</b>\n<script>alert(2)</script>',
    })
    expect(container.querySelector('img, b, script')).toBeNull()
    expect(container.textContent).toContain('<img src=x onerror=alert(1)>')
  })
})
