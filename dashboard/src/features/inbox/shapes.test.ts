import { describe, expect, it } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, commandView } from '../../testing/factories'
import type { Status } from '../../lib/api/types'
import { groupsOf, shapesOf } from './shapes'

let id = 0
const run = (command: string, status: Partial<Status> = {}, args = {}) =>
  toRequest(
    aRequest(
      ++id,
      { toolCall: { name: 'Bash', arguments: { command, ...args } } },
      { view: commandView, ...status },
    ),
  ) as Request
const summary = (requests: Request[]) =>
  shapesOf(requests).map((s) => [s.requests.length, s.words?.join(' '), ...s.differing])

describe('shapesOf', () => {
  it('groups calls that differ in one word', () => {
    const calls = ['a', 'b', 'c'].map((name) => run(`go test ./internal/${name}`))
    expect(summary([calls[0]!, run('make deploy'), calls[1]!, calls[2]!])).toEqual([
      [3, 'go test ./internal/a', './internal/a', './internal/b', './internal/c'],
      [1, undefined],
    ])
    expect(summary([run('sleep 5'), run('sleep 60')])).toEqual([[2, 'sleep 5', '5', '60']])
  })

  it('keeps calls apart that differ in a word that may be a subcommand or an option', () => {
    for (const [a, b] of [
      ['git log', 'git status'],
      ['git -C ./x log', 'git -C ./x push'],
      ['sudo systemctl status', 'sudo systemctl stop'],
      ['npm run build', 'npm run deploy'],
      ['git push --dry-run', 'git push --force'],
      ['make ./a', 'make clean'],
      ['echo ./a', 'echo ./a;./b'],
    ] as const)
      expect(summary([run(a), run(b)]), a).toEqual([
        [1, undefined],
        [1, undefined],
      ])
  })

  it('keeps other programs, other arguments and a second difference apart', () => {
    const shapes = (...requests: Request[]) => shapesOf(requests).length
    expect(shapes(run('cat ./a'), run('rm ./a'))).toBe(2)
    expect(shapes(run('cp ./a ./x'), run('cp ./b ./y'))).toBe(2)
    expect(shapes(run('cp ./a ./x'), run('cp ./b ./x'), run('cp ./a ./y'))).toBe(2)
    expect(shapes(run('go test ./a'), run('go test ./b', {}, { sandbox: false }))).toBe(2)
    expect(shapes(run('go test ./a', {}, { description: 'One' }), run('go test ./b'))).toBe(1)
  })

  it('keeps calls of another tool or folder apart, also if only the event names them', () => {
    const from = (command: string, tool_name: string, cwd: string) => {
      const r = run(command)
      const { toolCall: _, ...question } = r.question
      const payload = { tool_name, cwd, tool_input: { command } }
      return {
        ...r,
        question,
        event: { ...r.event, tool_name, payload, humanInTheLoop: question },
      } as Request
    }
    const shapes = (...requests: Request[]) => shapesOf(requests).length
    expect(shapes(from('cat ./a', 'Bash', '/x'), from('cat ./b', 'Bash', '/x'))).toBe(1)
    expect(shapes(from('cat ./a', 'Bash', '/x'), from('cat ./b', 'Bash', '/y'))).toBe(2)
    expect(shapes(from('cat ./a', 'Bash', '/x'), from('cat ./b', 'mcp__prod__shell', '/x'))).toBe(2)
  })

  it('shows in full what is not one plain line', () => {
    const finding = { findings: [{ code: 'x', risk: 'low' as const, text: 'It does something.' }] }
    for (const make of [
      (n: number) => run(`echo ${n}\nrm x`),
      (n: number) => run(`echo ${n} ${'x'.repeat(200)}`),
      (n: number) => run(`echo ${n}\u202e`),
      (n: number) => run(`echo ${n}`, finding),
    ])
      expect(summary([make(1), make(2)])).toEqual([
        [1, undefined],
        [1, undefined],
      ])
  })

  it('has a harmless call as one line', () =>
    expect(summary([run('ls', { class: 'harmless' })])).toEqual([[1, 'ls']]))
})

describe('groupsOf', () => {
  it('groups only open requests that may be approved together, under the first of them', () => {
    const [a, b] = [run('go test ./a'), run('go test ./b')]
    const done = run('go test ./c', { status: 'responded', outcome: 'approve' })
    const votes = run('go test ./d', { requiredApprovals: 2 })
    const whole = run('go test ./e')
    const summary = { ...whole, event: { ...whole.event, payloadTruncated: true } }
    const groups = groupsOf([run('make x'), done, votes, summary, a, b], [])
    expect([...groups].map(([first, shape]) => [first, shape.requests.map((r) => r.id)])).toEqual([
      [a.id, [a.id, b.id]],
    ])
    const freeze = { id: 1, scope: 'all', created_at: 1 } as const
    expect(groupsOf([a, b], [freeze]).size).toBe(0)
  })
})
