import { describe, expect, it } from 'vitest'
import { offeredAddress } from './offeredAddress'

describe('offeredAddress', () => {
  it.each([
    ['https://laptop.tail1234.ts.net', 'https://laptop.tail1234.ts.net'],
    ['HTTPS://Laptop.TAIL1234.ts.net:443/', 'https://laptop.tail1234.ts.net'],
    ['https://hub.example.com:8443', 'https://hub.example.com:8443'],
    ['https://hub.ex\u0430mple.com', 'https://hub.xn--exmple-4nf.com'],
  ])('accepts %s', (text, want) => expect(offeredAddress(text)).toBe(want))

  it.each([
    '',
    'http://hub.example.com',
    'javascript:alert(1)',
    'https://',
    'https://user@evil.example',
    'https://hub.example.com\\@evil.example',
    'https://hub.example.com/path',
    'https://hub.example.com?next=1',
    'https://hub.example.com#x',
    'https://[x]',
    ' https://hub.example.com',
    'https://' + 'a.'.repeat(200) + 'com',
  ])('rejects %s', (text) => expect(offeredAddress(text)).toBe(''))
})
