import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { splitByFindings, findingsWithin, type NumberedFinding } from './findingSpans'

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

  it('belong to the argument that they refer to', () => {
    const all = [
      finding(1, 'x'),
      { ...finding(2, 'y'), at: '/commander' },
      { ...finding(3, 'z'), at: '/command/2' },
    ]
    expect(findingsWithin(all, '/command').map((f) => f.n)).toEqual([1, 3])
  })
})
