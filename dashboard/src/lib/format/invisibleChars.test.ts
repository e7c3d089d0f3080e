import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countInvisible, splitInvisible } from './invisibleChars'

const drawn = (text: string) =>
  splitInvisible(text)
    .map((p) => (p.mark ? `[${p.mark}]` : p.text))
    .join('')

describe('Invisible characters', () => {
  it.each([
    ['plain text', 'plain text'],
    ['tabs\tand\nlines\r\nstay', 'tabs\tand\nlines\r\nstay'],
    ['rm -rf ~\rls', 'rm -rf ~[CR]ls'],
    ['\u001b[2Jgone', '[ESC][2Jgone'],
    ['a\u0000b\u0007', 'a[NUL]b[BEL]'],
    ['safe\u202etxt.exe', 'safe[RLO]txt.exe'],
    ['a\u2066b\u2069', 'a[LRI]b[PDI]'],
    ['zero\u200bwidth\u2060\ufeff', 'zero[ZWSP]width[WJ][BOM]'],
    ['soft\u00adhyphen', 'soft[SHY]hyphen'],
    ['\u{e0041}tag', '[U+E0041]tag'],
    ['\u3164filler', '[HF]filler'],
    ['a\ufe0fb', 'a[U+FE0F]b'],
    ['a\u200db', 'a[ZWJ]b'],
  ])('shows %j as %j', (text, expected) => {
    expect(drawn(text)).toBe(expected)
  })

  it.each(['❤️', '👩‍💻', '👩🏽‍🚀', '1️⃣', '🏳️‍🌈', 'שלום', 'naïve café', '日本語'])('%s contains none', (text) => {
    expect(countInvisible(text)).toBe(0)
    expect(drawn(text)).toBe(text)
  })

  it('keeps every character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(
          splitInvisible(text)
            .map((p) => p.text)
            .join(''),
        ).toBe(text)
      }),
    )
  })

  it('are counted', () => {
    expect(countInvisible('a\u200b\u202eb')).toBe(2)
  })
})
