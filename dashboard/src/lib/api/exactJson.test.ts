import { describe, expect, it } from 'vitest'
import { isNumber, isObject, numbersIn, parseJson, parseNumber, readableJson, toJson } from './exactJson'

const NUMBERS = [
  '9007199254740993',
  '1e400',
  '-1E400',
  '0.12345678901234567891',
  '-0',
  '5.0',
  '1e3',
  '1.5e-7',
  '7',
]

describe('JSON with exact numbers', () => {
  it.each(NUMBERS)('keeps %s in any place', (number) => {
    for (const json of [number, `[${number}]`, `{"a":${number}}`, `{"a":[1,{"b":${number}}]}`])
      expect(toJson(parseJson(json))).toBe(json)
    expect(toJson(parseJson(`{ "a" :\n\t${number} }`))).toBe(`{"a":${number}}`)
    expect(String(parseJson(number))).toBe(number)
    expect(Number(parseJson(number))).toBe(Number(number))
    expect(isNumber(parseJson(number))).toBe(true)
    expect(isObject(parseJson(number))).toBe(false)
  })

  it('leaves texts and names that look like numbers', () => {
    const json = String.raw`{"1e400":"[1e400, 5.0","__proto__":{"x":5.0},"q\"":"\\","\\\"":"\\\\\" ,1e400","n":1e400}`
    expect(toJson(parseJson(json))).toBe(json)
    expect(Array.from(numbersIn(json), String)).toEqual(['5.0', '1e400'])
  })

  it('keeps line feeds for people, and nothing else', () => {
    const value = {
      command: 'a\nb',
      escaped: String.raw`c:\new`,
      quoted: '",\n"d": 1',
      n: parseJson('1e400'),
    }
    expect(readableJson(value)).toBe(
      String.raw`{
  "command": "a
b",
  "escaped": "c:\\new",
  "quoted": "\",
\"d\": 1",
  "n": 1e400
}`,
    )
  })

  it('calculates with a number as JavaScript does', () => {
    const { cost } = parseJson('{"cost":2.50}') as { cost: number }
    expect(cost + 1).toBe(3.5)
    expect(cost > 2).toBe(true)
  })

  it('accepts what JSON.parse accepts', () => {
    for (const json of ['{1.50:2}', '[01.5]', '[1.2.3]', '[1e]', '[0x1F4]', '[1,5.0', ''])
      expect(() => parseJson(json)).toThrow(SyntaxError)
    for (const text of ['0x1F4', '1,5', '+5', '.5', '5.', 'NaN', '"5"', 'null', '[5]', ''])
      expect(parseNumber(text)).toBeUndefined()
  })

  it('reads long texts and deep documents', () => {
    const quotes = JSON.stringify(['"\\'.repeat(2_000_000)]).replace(']', ',5.0]')
    expect(String((parseJson(quotes) as unknown[])[1])).toBe('5.0')
    let value = parseJson('['.repeat(100_000) + '5.0' + ']'.repeat(100_000))
    while (Array.isArray(value)) value = value[0]
    expect(String(value)).toBe('5.0')
  })
})
