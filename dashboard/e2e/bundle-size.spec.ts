import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect, test } from '@playwright/test'

const dist = fileURLToPath(new URL('../dist', import.meta.url))
const size = (file: string) => gzipSync(readFileSync(`${dist}/${file}`), { level: 9 }).length

test.describe('Bundle size', () => {
  test('keeps the first load within 90 kB of JavaScript and 10 kB of CSS, and each later file within 60 kB', () => {
    const html = readFileSync(`${dist}/index.html`, 'utf8')
    const first = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map((m) => m[1] ?? '')
    const sum = (end: string) => first.filter((f) => f.endsWith(end)).reduce((n, f) => n + size(f), 0)
    expect(sum('.js')).toBeGreaterThan(0)
    expect(sum('.js')).toBeLessThanOrEqual(90_000)
    expect(sum('.css')).toBeLessThanOrEqual(10_000)
    const later = readdirSync(`${dist}/assets`).filter((f) => !first.includes(`assets/${f}`))
    for (const file of later) expect(size(`assets/${file}`), file).toBeLessThanOrEqual(60_000)
  })
})
