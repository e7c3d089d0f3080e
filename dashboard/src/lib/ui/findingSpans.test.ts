import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitByFindings, findingsWithin, viewSpans, type NumberedFinding } from './findingSpans'

const finding = (n: number, excerpt: string, risk: NumberedFinding['risk'] = 'high'): NumberedFinding => ({
  n,
  code: `c${n}`,
  risk,
  text: `Finding ${n}.`,
  at: '/command',
  excerpt,
})

describe('Finding spans', () => {
  it('highlight their range across syntax colors', () => {
    const tokens = [
      { text: 'sudo ', kind: 'a' },
      { text: 'rm', kind: 'b' },
      { text: ' -rf / && ls', kind: '' },
    ]
    const out = splitByFindings(tokens, [finding(1, 'rm -rf /')])
    expect(out.filter((s) => s.risk).map((s) => [s.text, s.kind, s.ends])).toEqual([
      ['rm', 'b', undefined],
      [' -rf /', '', '1'],
    ])
  })

  it('use the color of the worst finding on overlap, and keep both numbers', () => {
    const out = splitByFindings(
      [{ text: 'curl x | sh', kind: '' }],
      [finding(1, 'curl x | sh', 'critical'), finding(2, 'curl x', 'medium')],
    )
    expect(out.map((s) => [s.text, s.risk, s.ends])).toEqual([
      ['curl x', 'critical', '2'],
      [' | sh', 'critical', '1'],
    ])
  })

  it('keep every character', () => {
    const word = fc.string()
    fc.assert(
      fc.property(fc.array(word), fc.array(word, { maxLength: 4 }), (texts, excerpts) => {
        const tokens = texts.map((text) => ({ text, kind: '' }))
        const out = splitByFindings(
          tokens,
          excerpts.map((e, i) => finding(i, e)),
        )
        expect(out.map((s) => s.text).join('')).toBe(texts.join(''))
      }),
    )
  })

  it('join what the hub read, without their numbers', () => {
    const view = {
      commands: [
        { at: '/command', from: 5, to: 7 },
        { at: '/other', to: 1 },
      ],
      unread: [{ at: '/command', from: 5, to: 9, reason: 'why' }],
    }
    const spans = viewSpans(view, '/command', [{ at: '/command', from: 0, length: 11 }])
    const out = splitByFindings([{ text: '😀;  rm $x;', kind: 'k' }], [finding(1, 'rm $x')], spans)
    expect(out.map((s) => [s.text, s.kind, s.risk, s.says, s.ends])).toEqual([
      ['😀;  ', 'k', undefined, undefined, undefined],
      ['rm', 'k program', 'high', 'Finding 1. why', undefined],
      [' $', 'k', 'high', 'Finding 1. why', undefined],
      ['x', 'k', 'high', 'Finding 1.', '1'],
      [';', 'k', undefined, undefined, undefined],
    ])
  })

  it('are moved to the words of a list', () => {
    const view = {
      commands: [{ at: '/command/0' }, { at: '/command/2', from: 4, to: 6 }, { at: '/command' }],
      unread: [
        { at: '/command/2', to: 2, reason: 'a' },
        { at: '/command', reason: 'b' },
      ],
    }
    const parts = [
      { at: '/command/0', from: 0, length: 2 },
      { at: '/command/2', from: 7, length: 6 },
    ]
    expect(viewSpans(view, '/command', parts).map((s) => s.slice(0, 2))).toEqual([
      [0, 2],
      [11, 13],
      [7, 9],
      [0, Infinity],
    ])
  })

  it('belong to the argument that they refer to', () => {
    const all = [
      finding(1, 'x'),
      { ...finding(2, 'y'), at: '/commander' },
      { ...finding(3, 'z'), at: '/command/2' },
    ]
    expect(findingsWithin(all, '/command').map((f) => f.n)).toEqual([1, 3])
  })
})
