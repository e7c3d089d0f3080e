import { describe, expect, it } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, anEvent } from '../../testing/factories'
import type {
  Delivery,
  DeliveryState,
  Event,
  HumanInTheLoop,
  JsonObject,
  Problem,
  FormQuestion,
  Status,
} from '../../lib/api/types'
import { answersTo, answerTo, Draft, editedArguments, editFields, hasRedacted, safeKey } from './draft.svelte'
import { describeSuggestion } from './suggestion'
import { earlierCallsText } from './earlierCalls'
import { deliveryProgress, ranWithoutApproval } from '../../lib/format/deliverySteps'
import { agentMessage } from './agentMessage'
import { deliveryProblemText } from './deliveryProblem'
import { answerText, supersededBy, resolvedBy, requestOutcome } from '../../lib/format/outcome'

const asked = (question: Partial<HumanInTheLoop>, status: Partial<Status>) =>
  toRequest(aRequest(1, question, status)) as Request
const delivered = (delivery: Delivery) =>
  asked({}, { status: 'responded', outcome: 'approve', respondedAt: 1000, delivery })

describe('Outcome', () => {
  it.each<[Partial<Status>, string]>([
    [{ status: 'pending' }, 'Needs you'],
    [{ status: 'responded', outcome: 'approve' }, 'Approved'],
    [{ status: 'responded', outcome: 'deny' }, 'Denied'],
    [{ status: 'responded', outcome: 'answered' }, 'Answered'],
    [{ status: 'responded', outcome: 'Vitest', response: { choice: 'Vitest', respondedAt: 1 } }, 'Vitest'],
    [
      { status: 'responded', outcome: 'toString', response: { choice: 'toString', respondedAt: 1 } },
      'toString',
    ],
    [{ status: 'responded', outcome: 'deny', response: { choice: 'deny', respondedAt: 1 } }, 'deny'],
    [{ status: 'timeout', outcome: '__timeout__' }, 'No answer'],
    [
      { status: 'timeout', outcome: '__timeout__', response: { permission: false, respondedAt: 1 } },
      'No answer',
    ],
    [{ status: 'error', outcome: '__cancelled__' }, 'Canceled'],
    [{ status: 'error', outcome: '__withdrawn__' }, 'Withdrawn by the agent'],
    [{ status: 'responded', response: { permission: false, respondedAt: 1 } }, 'Denied'],
  ])('%j is labeled “%s”', (status, word) => expect(requestOutcome(asked({}, status)).label).toBe(word))

  it('names the responder', () => {
    expect(resolvedBy(asked({}, { status: 'timeout', source: 'timeout' }))).toBe('the deadline')
    expect(
      resolvedBy(
        asked({}, { status: 'responded', source: 'human', respondedBy: { name: 'mara', verified: true } }),
      ),
    ).toBe('mara')
    expect(resolvedBy({ ...asked({}, { status: 'responded' }), mine: true })).toBe('you')
  })

  it('tells the loser of a race who answered first', () => {
    const problem = (code: string) => ({ type: '', title: '', status: 409, code, error: '' }) as Problem
    const lost = asked(
      {},
      { status: 'responded', source: 'human', respondedBy: { name: 'mara', verified: true } },
    )
    expect(supersededBy(lost)).toBeUndefined()
    expect(supersededBy({ ...lost, problem: problem('decided') })).toContain('mara was faster')
    expect(supersededBy({ ...lost, mine: true, problem: problem('decided') })).toContain(
      'Another answer was faster',
    )
    expect(supersededBy({ ...lost, problem: problem('expired') })).toContain('It ended before')
  })

  it('shows the message to the agent if no person decided', () => {
    expect(agentMessage(asked({}, { status: 'timeout' }))).toContain('No one answered')
    expect(agentMessage(asked({}, { status: 'error', outcome: '__withdrawn__' }))).toContain(
      'withdrew the request',
    )
    expect(agentMessage(asked({}, { status: 'responded', outcome: 'approve' }))).toBeUndefined()
  })
})

describe('Delivery steps', () => {
  it.each<[DeliveryState, Partial<Delivery>, string, string, string]>([
    ['queued', {}, 'busy', 'open', ''],
    ['sending', {}, 'busy', 'open', ''],
    ['acked', { deliveredAt: 1011 }, 'done', 'done', ''],
    ['pulled', {}, 'done', 'done', ''],
    ['fetched', {}, 'done', 'open', ''],
    ['delivered', { confirmed: 'close' }, 'done', 'done', ''],
    ['delivered', { confirmed: 'write' }, 'done', 'open', ''],
    ['none', {}, 'busy', 'open', ''],
    ['unconfirmed', {}, 'done', 'failed', 'Connection lost'],
    ['refused', { nextAttemptAt: 9000 }, 'busy', 'open', 'next attempt in 0:04'],
    ['refused', {}, 'failed', 'open', 'refused the answer'],
    ['unreachable', { nextAttemptAt: 9000 }, 'busy', 'open', 'next attempt in 0:04'],
    ['unreachable', {}, 'failed', 'open', 'stopped after'],
    ['too_late', {}, 'done', 'failed', 'stopped waiting'],
    ['blocked', {}, 'failed', 'open', '-callback-allow'],
  ])('%s', (state, more, second, third, trouble) => {
    const request = delivered({ state, attempts: 2, ...more })
    const progress = deliveryProgress(request)
    expect(progress?.steps.map((s) => s.state)).toEqual(['done', second, third])
    const details = deliveryProblemText(request.status.delivery as Delivery, 5000)
    const text = progress?.problem ? `${progress.problem} ${details}` : ''
    expect(details === undefined).toBe(progress?.problem === undefined)
    expect(text).toContain(trouble)
    expect(text === '').toBe(trouble === '')
  })

  it('say that the agent knows that no one answered', () => {
    const acked = { state: 'acked', attempts: 1 } as const
    const labels = (status: Partial<Status>) =>
      deliveryProgress(asked({}, { ...status, delivery: acked }))?.steps.map((s) => s.label)
    expect(labels({ status: 'timeout', source: 'timeout' })).toContain('agent notified')
    expect(labels({ status: 'responded', source: 'human' })).toContain('delivered')
  })

  it('say that the agent will know of a cancellation that is not saved yet', () => {
    const labels = (submission: Request['submission']) =>
      deliveryProgress({ ...asked({}, {}), submission })?.steps.map((s) => s.label)
    expect(labels({ since: 1, cancel: '' })).toContain('agent notified')
    expect(labels({ since: 1, answer: { permission: true } })).toContain('delivered')
  })

  it('show how long delivery took', () => {
    expect(
      deliveryProgress(delivered({ state: 'acked', attempts: 1, deliveredAt: 1011 }))?.steps[2]?.took,
    ).toBe('11 ms')
  })

  it('end with the execution of the call and its event', () => {
    const called = (more: Partial<Status>, next?: Event) => {
      const status = {
        status: 'responded',
        outcome: 'approve',
        delivery: { state: 'acked', attempts: 1 },
      } as const
      const r = asked({ toolCall: { name: 'Bash', id: 't1' } }, { ...status, ...more })
      return deliveryProgress(r, next)?.steps[3]
    }
    expect(called({})).toMatchObject({ state: 'open', label: 'runs' })
    expect(called({ execution: { state: 'succeeded', durationMs: 1200, eventId: 9 } })).toEqual({
      state: 'done',
      label: 'ran',
      took: '1.2 s',
      event: 9,
    })
    expect(called({ execution: { state: 'failed' } })).toMatchObject({
      state: 'failed',
      label: 'ran and failed',
    })
    expect(called({ execution: { state: 'interrupted' } })?.label).toBe('interrupted')
    expect(called({}, anEvent(12))).toMatchObject({ label: 'continued', event: 12 })
    expect(called({ outcome: 'deny' })).toBeUndefined()
  })

  it('show no problem once it is marked as handled', () => {
    expect(
      deliveryProgress(delivered({ state: 'refused', attempts: 1, handledAt: 5 }))?.problem,
    ).toBeUndefined()
  })

  it('name a timeout that its client did not pick up, which is no problem', () => {
    const delivery = { state: 'unreachable', attempts: 9 } as const
    const progress = (status: Partial<Status>) => deliveryProgress(asked({}, { ...status, delivery }))
    expect(progress({ status: 'timeout', outcome: '__timeout__' })).toEqual({
      steps: [expect.objectContaining({ label: 'saved' }), { state: 'open', label: 'not picked up' }],
      problem: undefined,
    })
    expect(progress({ status: 'responded', source: 'rule' })?.problem).toBeUndefined()
    expect(progress({ status: 'responded', source: 'human' })?.problem).toBe('The agent could not be reached')
  })

  it('are not sent during the undo window', () => {
    const r = asked({}, { held: { until: 1, outcome: 'approve', by: { name: 'mara', verified: true } } })
    expect(deliveryProgress(r)?.steps.map((s) => s.state)).toEqual(['done', 'open', 'open'])
    expect([requestOutcome(r).label, resolvedBy(r)]).toEqual(['Approved', 'mara'])
  })

  it('warn if the call ran without approval', () => {
    const ran = (status: Partial<Status>) =>
      ranWithoutApproval(asked({}, { execution: { state: 'succeeded' }, ...status }))
    expect(ran({ status: 'responded', outcome: 'approve' })).toBeUndefined()
    expect(ran({ status: 'responded', outcome: 'deny' })).toContain('denied')
    expect(ran({ status: 'timeout', outcome: '__timeout__' })).toContain('without approval')
    expect(ran({ status: 'pending' })).toContain('before anyone answered')
    const denied: Partial<Status> = {
      status: 'responded',
      outcome: 'deny',
      delivery: { state: 'acked', attempts: 1 },
    }
    const steps = deliveryProgress(asked({}, { ...denied, execution: { state: 'succeeded' } }))?.steps
    expect(steps?.at(-1)).toMatchObject({ state: 'failed', label: 'ran anyway' })
  })

  it('start only once the hub has saved the answer', () => {
    const sending = { ...asked({}, {}), submission: { since: 1, answer: { permission: true } } }
    expect(deliveryProgress(sending)?.steps.map((s) => s.state)).toEqual(['busy', 'open', 'open'])
    expect(requestOutcome(sending).label).toBe('Approved')
  })
})

const slots = (edits: Record<string, string>) =>
  Object.fromEntries(Object.entries(edits).map(([name, text]) => [safeKey(name), text]))

const tone: FormQuestion = {
  id: 'tone',
  question: 'Tone?',
  options: [{ label: 'A' }, { label: 'B' }],
  allowOther: true,
}
const parts: FormQuestion = {
  id: 'parts',
  question: 'Parts?',
  options: [{ label: 'X' }, { label: 'Y' }],
  multiple: true,
}
const title: FormQuestion = { id: 'title', question: 'Title?' }

describe('earlierOutcomes', () => {
  const last = aRequest(
    3,
    {},
    { outcome: 'deny', respondedAt: 1_000, response: { respondedAt: 1_000, reason: 'use the copy' } },
  )

  it('describes outcomes, with the last reason', () => {
    expect(earlierCallsText({ approved: 0, denied: 2, other: 0, last }, 181_000)).toEqual({
      before: 'Same call asked before: denied twice (3 min ago): ',
      quote: 'use the copy',
    })
    expect(earlierCallsText({ approved: 5, denied: 1, other: 0, last }, 181_000)?.before).toBe(
      'Same call asked before: denied once, approved 5 times (last denied 3 min ago): ',
    )
    expect(earlierCallsText({ approved: 0, denied: 0, other: 1 }, 0)?.before).toBe(
      'Same call asked before: no answer.',
    )
  })

  it('is undefined without earlier calls', () => {
    expect(earlierCallsText({ approved: 0, denied: 0, other: 0 }, 0)).toBeUndefined()
  })
})

describe('Several questions', () => {
  it('are answered by label, labels or text, only all together', () => {
    const { form: kept } = new Draft(1)
    expect(answersTo([tone, parts, title], kept)).toBeUndefined()
    kept.picks[safeKey('tone')] = ['B']
    kept.picks[safeKey('parts')] = ['Y', 'X']
    expect(answersTo([tone, parts, title], kept)).toBeUndefined()
    kept.other[safeKey('title')] = ' The title '
    expect(answersTo([tone, parts, title], kept)).toEqual({
      tone: 'B',
      parts: ['X', 'Y'],
      title: 'The title',
    })
    kept.picks[safeKey('tone')] = []
    kept.other[safeKey('tone')] = 'my own'
    expect(answerTo(tone, kept)).toBe('my own')
  })

  it('can have any name', () => {
    const named = ['__proto__', 'constructor', 'toString'].map((id) => ({ id, question: id }))
    const { form: kept } = new Draft(1)
    expect(answersTo(named, kept)).toBeUndefined()
    for (const { id } of named) kept.other[safeKey(id)] = `to ${id}`
    expect(JSON.stringify(answersTo(named, kept))).toBe(
      '{"__proto__":"to __proto__","constructor":"to constructor","toString":"to toString"}',
    )
  })

  it('are formatted from the answer', () => {
    const r = asked(
      { type: 'question', questions: [tone, parts] },
      { status: 'responded', response: { answers: { tone: 'B', parts: ['X', 'Y'] }, respondedAt: 1 } },
    )
    expect(answerText(r)).toBe('Tone?: B\nParts?: X, Y')
  })
})

describe('Draft', () => {
  it('survives a reload, and is deleted with the answer', () => {
    const draft = new Draft(7)
    draft.form.text = 'half a sen'
    draft.save()
    expect(new Draft(7).form.text).toBe('half a sen')
    expect(new Draft(8).form.text).toBe('')
    draft.clear()
    expect(new Draft(7).form.text).toBe('')
    expect(sessionStorage).toHaveLength(0)
  })
})

describe('Edited arguments', () => {
  const args: JsonObject = {
    command: 'rm a',
    timeout: 5,
    force: false,
    env: { A: '1' },
    list: [1],
    none: null,
  }

  it('keep their JSON types', () => {
    const fields = editFields(args, slots({ command: 'rm b', timeout: '7', force: 'true', env: '{"A":"2"}' }))
    expect(fields.map((f) => [f.kind, f.changed])).toEqual([
      ['text', true],
      ['number', true],
      ['switch', true],
      ['json', true],
      ['json', false],
      ['json', false],
    ])
    expect(editedArguments(fields)).toEqual({
      ...args,
      command: 'rm b',
      timeout: 7,
      force: true,
      env: { A: '2' },
    })
  })

  it('without a change in what is sent are not an edit', () => {
    const fields = editFields(args, slots({ env: '{ "A": "1" }', timeout: ' 5 ' }))
    expect(fields.filter((f) => f.changed)).toEqual([])
  })

  it('report invalid JSON and invalid numbers', () => {
    const fields = editFields(args, slots({ env: '{', timeout: 'soon' }))
    expect(fields.filter((f) => f.error).map((f) => f.name)).toEqual(['timeout', 'env'])
  })

  it('that were redacted are found', () => {
    expect(hasRedacted({ a: { b: 'x [redacted:token]' } })).toBe(true)
  })
})

describe('“Always allow” suggestion', () => {
  it('shows exactly the calls it covers', () => {
    const rule = { type: 'addRules', behavior: 'allow', destination: 'session' }
    expect(describeSuggestion({ ...rule, rules: [{ toolName: 'Bash', ruleContent: 'npm test:*' }] })).toEqual(
      {
        verb: 'Always allow',
        patterns: ['Bash(npm test:*)'],
        scope: 'until this session ends',
      },
    )
    expect(describeSuggestion({ ...rule, rules: [{ toolName: 'Bash' }] }).patterns).toEqual([
      'Bash (every call)',
    ])
    expect(describeSuggestion({ type: 'setMode', mode: 'bypassPermissions' }).verb).toBe(
      'Never ask again for anything',
    )
    expect(describeSuggestion({ odd: 1 })).toEqual({ verb: 'Remember', patterns: ['{"odd":1}'], scope: '' })
  })
})
