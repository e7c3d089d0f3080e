import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aRequest, commandView, fileView } from '../../testing/factories'
import { fileChanges, diffLines, pairLines, parseDiff, parsePatch, diffWords } from '../ui/diff'
import type { CallView } from '../api/schema'
import type { Event } from '../api/types'
import { callPreview } from './callPreview'

const changed = (e: Event) => fileChanges(callPreview(e)?.changes ?? [])
const call = (name: string, args: never, view: CallView = {}) =>
  aRequest(1, { toolCall: { name, arguments: args } }, { view })

describe('callPreview', () => {
  it('finds arguments that the question refers to', () => {
    const refer = (argumentsRef: string) => {
      const e = call('Write', undefined as never)
      e.humanInTheLoop!.toolCall!.argumentsRef = argumentsRef
      return { ...e, payload: { 'a/b': { '~': { file_path: '/w/a' } } } }
    }
    expect(callPreview(refer('/a~1b/~0'))?.args).toEqual({ file_path: '/w/a' })
    expect(callPreview(refer('/a~1b/constructor'))?.args).toBeUndefined()
  })

  it('contains the whole command and the other arguments', () => {
    const command = 'cd / && \\\n\n\n\n  rm -rf x # ' + 'y'.repeat(9000)
    const preview = callPreview(call('Bash', { command, timeout: 5, cwd: '/tmp' } as never, commandView))
    expect(preview?.commands).toEqual([
      { text: command, at: '/command', parts: [{ at: '/command', from: 0, length: command.length }] },
    ])
    expect(preview?.rest).toEqual([
      ['timeout', 5],
      ['cwd', '/tmp'],
    ])
  })

  it('guesses no command and no file without the hub’s reading', () => {
    const args = { command: 'ls', file_path: 'a', old_string: 'x', new_string: 'y' }
    const preview = callPreview(aRequest(1, { toolCall: { name: 'Bash', arguments: args } }))
    expect(preview).toMatchObject({ commands: [], changes: [] })
    expect(preview?.rest).toEqual(Object.entries(args))
  })

  it.each<[string, object, CallView['lines'], string[], string[]]>([
    [
      'a list of words',
      { command: ['rm', 'a b'] },
      [{ at: '/command', shell: 'sh', text: "rm 'a b'" }],
      ["rm 'a b'"],
      [],
    ],
    [
      'a list of lines',
      { commands: ['ls', 'pwd'] },
      [
        { at: '/commands/0', shell: 'sh' },
        { at: '/commands/1', shell: 'sh' },
      ],
      ['ls', 'pwd'],
      [],
    ],
    [
      'a line and operands',
      { command: 'npm', args: ['i'] },
      [{ at: '/command', shell: 'sh', text: 'npm i' }],
      ['npm i'],
      ['command', 'args'],
    ],
    [
      'equal names',
      { command: './evil.sh' },
      [
        { at: '/command', shell: 'sh', text: 'ls' },
        { at: '/command', shell: 'sh', text: './evil.sh' },
      ],
      ['ls', './evil.sh'],
      ['command'],
    ],
    [
      'JSON in a text',
      { arguments: '{"cmd":"id"}' },
      [{ at: '/arguments', shell: 'sh', text: 'id' }],
      ['id'],
      ['arguments'],
    ],
    ['a name with a slash', { 'a/b': 'ls' }, [{ at: '/a~1b', shell: 'sh' }], ['ls'], []],
    ['a line that was left out', { command: ['ls'] }, [{ at: '/command', shell: 'sh' }], [], ['command']],
  ])('shows %s', (_, args, lines, commands, rest) => {
    const preview = callPreview(call('X', args as never, { lines }))
    expect(preview?.commands.map(({ text }) => text)).toEqual(commands)
    expect(preview?.rest.map(([name]) => name)).toEqual(rest)
  })

  it('finds the words of a list in its line', () => {
    const command = ['sh', '-c', "it's", 'sh', 3, 'a b']
    const lines: CallView['lines'] = [{ at: '/command', shell: 'sh', text: `sh -c 'it'\\''s' sh 3 'a b'` }]
    const [line] = callPreview(call('X', { command } as never, { lines }))?.commands ?? []
    expect(line?.parts.map(({ at, from, length }) => [at, line.text.slice(from, from + length)])).toEqual([
      ['/command/0', 'sh'],
      ['/command/1', '-c'],
      ['/command/3', 'sh'],
      ['/command/5', 'a b'],
    ])
  })

  it('recognizes the file changes of known tools', () => {
    const edit = call(
      'Edit',
      {
        file_path: 'a.go',
        old_string: 'x\ny',
        new_string: 'x\nz',
        replace_all: true,
      } as never,
      fileView('file_path'),
    )
    expect(changed(edit)).toEqual([
      {
        file: 'a.go',
        at: '/new_string',
        lines: [
          { kind: 'same', text: 'x', old: 1, new: 1 },
          { kind: 'del', text: 'y', old: 2 },
          { kind: 'add', text: 'z', new: 2 },
        ],
      },
    ])
    expect(callPreview(edit)?.rest).toEqual([['replace_all', true]])
    const write = changed(
      call('Write', { file_path: 'b', content: '1\n2\n' } as never, fileView('file_path')),
    )
    expect(write[0]?.lines.map((l) => l.kind)).toEqual(['add', 'add'])
    const many = changed(
      call(
        'MultiEdit',
        {
          file_path: 'c',
          edits: [
            { old_string: 'a', new_string: 'b' },
            { old_string: 'c', new_string: 'd', replace_all: true },
          ],
        } as never,
        fileView('file_path'),
      ),
    )
    expect(many.map((c) => [c.at, c.note])).toEqual([
      ['/edits/0/new_string', undefined],
      ['/edits/1/new_string', 'every occurrence'],
    ])
    const cell = call(
      'NotebookEdit',
      {
        notebook_path: 'n.ipynb',
        cell_id: 'c3',
        new_source: 'x = 1',
      } as never,
      fileView('notebook_path'),
    )
    expect(changed(cell)).toMatchObject([{ file: 'n.ipynb', note: 'replaces the source of cell c3' }])
    expect(callPreview(cell)?.rest).toEqual([['cell_id', 'c3']])
  })

  it('recognizes a patch, alone or inside a command', () => {
    const patch = '*** Begin Patch\n*** Update File: a.go\n@@ f\n x\n-old\n+new\n*** End Patch\n'
    const list: CallView = { lines: [{ at: '/command', shell: 'sh', text: 'apply_patch …' }] }
    const forms = [[{ input: patch }], [{ command: ['apply_patch', patch] }, list]] as const
    for (const [args, view] of forms) {
      const e = call('apply_patch', args as never, view)
      expect(callPreview(e)?.commands).toEqual([])
      expect(callPreview(e)?.rest).toEqual([])
      const file = changed(e).find((c) => c.file === 'a.go')
      expect(file?.lines.map((l) => l.kind)).toEqual(['head', 'head', 'head', 'same', 'del', 'add', 'head'])
      expect(changed(e)).toHaveLength(1)
    }
    const lines: CallView['lines'] = [{ at: '/command', shell: 'sh', text: 'apply_patch … && rm -rf x' }]
    const args = { command: ['apply_patch', patch, '&& rm -rf x'] }
    expect(callPreview(call('shell', args as never, { lines }))?.commands[0]?.text).toContain('rm -rf x')
    const typed = callPreview(call('Bash', { command: patch } as never, commandView))
    expect(typed?.commands).toMatchObject([{ text: patch, at: '/command' }])
  })

  it('shows edits it does not fully recognize as arguments', () => {
    const odd = callPreview(
      call('MultiEdit', {
        file_path: 'c',
        edits: [{ old_string: 'a', new_string: 'b', also: 'rm' }],
      } as never),
    )
    expect(odd?.changes).toEqual([])
    expect(odd?.rest.map(([name]) => name)).toEqual(['file_path', 'edits'])
  })

  it('falls back to the payload of a hook without toolCall', () => {
    const e = aRequest(1)
    e.payload = { tool_name: 'Bash', tool_input: { command: 'ls' }, cwd: '/src' }
    const commands = [{ text: 'ls', at: '/command' }]
    expect(callPreview(e, commandView)).toMatchObject({ tool: 'Bash', commands, cwd: '/src' })
    e.payload = { toolName: 'bash', toolArgs: '{"command":"ls"}' }
    expect(callPreview(e, { lines: [{ shell: 'sh', text: 'ls' }] })).toMatchObject({
      commands: [{ text: 'ls', at: '' }],
      rest: [['argument', '{"command":"ls"}']],
    })
  })

  it('is undefined for a question without a call', () => {
    expect(callPreview(aRequest(1))).toBeUndefined()
  })
})

describe('Diff', () => {
  const diff = [
    'diff --git a/x.go b/x.go',
    'index 1..2 100644',
    '--- a/x.go',
    '+++ b/x.go',
    '@@ -3,2 +3,3 @@ func main() {',
    ' same',
    '-old',
    '+new',
    '+more',
    'diff --git a/y b/y',
    '--- a/y',
    '+++ /dev/null',
    '@@ -1 +0,0 @@',
    '-gone',
  ].join('\n')

  it('is split into files, with line numbers', () => {
    const [x, y] = parseDiff(diff)
    expect(x?.file).toBe('x.go')
    expect(x?.lines.filter((l) => l.kind !== 'head')).toEqual([
      { kind: 'same', text: 'same', old: 3, new: 3 },
      { kind: 'del', text: 'old', old: 4 },
      { kind: 'add', text: 'new', new: 4 },
      { kind: 'add', text: 'more', new: 5 },
    ])
    expect(y?.file).toBe('y')
  })

  it('loses no line of any input', () => {
    const line = fc.oneof(
      fc.string({ maxLength: 12 }).map((s) => s.replaceAll('\n', '')),
      fc.constantFrom('--- a/f', '+++ b/f', '@@ -1 +1 @@', '+x', '-x', ' x', 'diff --git a/f b/f', '\\ No'),
    )
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), (lines) => {
        const shown = parseDiff(lines.join('\n') + '\n').flatMap((c) => c.lines)
        expect(shown).toHaveLength(lines.length)
        for (const [i, l] of shown.entries()) expect(lines[i]).toContain(l.text)
      }),
    )
  })

  it('shows a change of the final newline', () => {
    expect(diffLines('a', 'a\n').map((l) => l.kind)).toEqual(['same', 'head'])
    expect(diffLines('a\n', 'a\n').map((l) => l.kind)).toEqual(['same'])
  })

  it('loses no line of apply_patch input', () => {
    const line = fc.oneof(
      fc.string({ maxLength: 12 }).map((s) => s.replaceAll('\n', '')),
      fc.constantFrom('*** Begin Patch', '*** Add File: f', '*** Update File: ', '@@', '+x', '-x', ' x'),
    )
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), (lines) => {
        const shown = parsePatch(lines.join('\n') + '\n').flatMap((c) => c.lines)
        expect(shown).toHaveLength(lines.length)
        for (const [i, l] of shown.entries()) expect(lines[i]).toContain(l.text)
      }),
    )
  })

  it('shows each line once on its side, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c')), fc.array(fc.constantFrom('a', 'd')), (a, b) => {
        const lines = diffLines(a.join('\n'), b.join('\n'))
        const rows = pairLines(lines)
        expect(rows.flatMap((p) => p.left ?? [])).toEqual(lines.filter((l) => l.kind !== 'add'))
        expect(rows.flatMap((p) => p.right ?? [])).toEqual(lines.filter((l) => l.kind !== 'del'))
      }),
    )
    const [row] = pairLines(diffLines('old line', 'new line'))
    expect([row?.left?.text, row?.right?.text]).toEqual(['old line', 'new line'])
  })

  it('highlights the words that differ, unless nearly all do', () => {
    const found = diffWords('rm -rf /tmp/a now', 'rm -rf /tmp/b now')
    expect(found?.left.filter((w) => w.changed).map((w) => w.text)).toEqual(['a'])
    expect(found?.right.map((w) => w.text).join('')).toBe('rm -rf /tmp/b now')
    expect(diffWords('abc def', 'xyz uvw')).toBeUndefined()
  })

  it('compares two long texts with nothing in common within bounds', () => {
    const many = (mark: string) => Array.from({ length: 6000 }, (_, i) => `${mark}${i}`).join('\n')
    expect(diffLines(many('a'), many('b')).length).toBe(12_000)
  })

  it('shows every line of both texts', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'b', 'c', '')),
        fc.array(fc.constantFrom('a', 'b', 'd')),
        (a, b) => {
          const lines = diffLines(a.join('\n'), b.join('\n'))
          const side = (kind: string) =>
            lines.filter((l) => l.kind === 'same' || l.kind === kind).map((l) => l.text)
          const whole = (words: string[]) => words.join('\n').replace(/\n$/, '')
          expect(side('del').join('\n')).toBe(whole(a))
          expect(side('add').join('\n')).toBe(whole(b))
          const endsDiffer = a.length > 0 && b.length > 0 && a.at(-1) === '' && a.join('') + b.join('') !== ''
          if (!endsDiffer) expect(lines.filter((l) => l.kind === 'head')).toEqual([])
        },
      ),
    )
  })
})
