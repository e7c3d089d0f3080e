import { expect, it } from 'vitest'
import { describeUserAgent } from './userAgent'

it.each([
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36',
    'Chrome on Linux',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605 (KHTML) Version/17 Safari/605',
    'Safari on macOS',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; rv:130.0) Gecko/20100101 Firefox/130.0', 'Firefox on Windows'],
  ['curl/8.5', 'curl/8.5'],
  [undefined, 'Unknown browser'],
])('describeUserAgent: %s', (agent, name) => expect(describeUserAgent(agent)).toBe(name))
