import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { aRequest } from '../../testing/factories'
import { fileChanges, diffLines, pairLines, parseDiff, parsePatch, diffWords } from '../ui/diff'
import type { Event } from '../api/types'
import { callPreview } from './callPreview'

const changed = (e: Event) => fileChanges(callPreview(e)?.changes ?? [])
const call = (name: string, args: never) => aRequest(1, { toolCall: { name, arguments: args } })

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
    const preview = callPreview(call('Bash', { command, timeout: 5, cwd: '/tmp' } as never))
    expect(preview?.command).toBe(command)
    expect(preview?.rest).toEqual([
      ['timeout', 5],
      ['cwd', '/tmp'],
    ])
  })

  it('joins a command list with quoting', () => {
    expect(callPreview(call('Shell', { command: ['rm', '-rf', 'a b', "it's"] } as never))?.command).toBe(
      `rm -rf 'a b' 'it'\\''s'`,
    )
  })

  it('recognizes the file changes of known tools', () => {
    const edit = call('Edit', {
      file_path: 'a.go',
      old_string: 'x\ny',
      new_string: 'x\nz',
      replace_all: true,
    } as never)
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
    const write = changed(call('Write', { file_path: 'b', content: '1\n2\n' } as never))
    expect(write[0]?.lines.map((l) => l.kind)).toEqual(['add', 'add'])
    const many = changed(
      call('MultiEdit', {
        file_path: 'c',
        edits: [
          { old_string: 'a', new_string: 'b' },
          { old_string: 'c', new_string: 'd', replace_all: true },
        ],
      } as never),
    )
    expect(many.map((c) => [c.at, c.note])).toEqual([
      ['/edits/0/new_string', undefined],
      ['/edits/1/new_string', 'every occurrence'],
    ])
    const cell = call('NotebookEdit', {
      notebook_path: 'n.ipynb',
      cell_id: 'c3',
      new_source: 'x = 1',
    } as never)
    expect(changed(cell)).toMatchObject([{ file: 'n.ipynb', note: 'replaces the source of cell c3' }])
    expect(callPreview(cell)?.rest).toEqual([['cell_id', 'c3']])
  })

  it('recognizes a patch, alone or inside a command', () => {
    const patch = '*** Begin Patch\n*** Update File: a.go\n@@ f\n x\n-old\n+new\n*** End Patch\n'
    const forms = [{ input: patch }, { command: ['apply_patch', patch] }]
    for (const args of forms) {
      const e = call('apply_patch', args as never)
      expect(callPreview(e)?.command).toBeUndefined()
      expect(callPreview(e)?.rest).toEqual([])
      const file = changed(e).find((c) => c.file === 'a.go')
      expect(file?.lines.map((l) => l.kind)).toEqual(['head', 'head', 'head', 'same', 'del', 'add', 'head'])
      expect(changed(e)).toHaveLength(1)
    }
    const patchAndCommand = call('shell', { command: ['apply_patch', patch, '&& rm -rf x'] } as never)
    expect(callPreview(patchAndCommand)?.command).toContain('rm -rf x')
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
    expect(callPreview(e)).toMatchObject({ tool: 'Bash', command: 'ls', cwd: '/src' })
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
