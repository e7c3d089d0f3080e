import { expect, test } from '@playwright/test'
import { hostileInputs } from '../src/testing/hostileInputs.ts'
import { HubProcess } from './hub.ts'

const json = { 'Content-Type': 'application/json' }

/** Half a character is the one thing that the hub replaces, in names too. */
function whole(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\p{Surrogate}/gu, '\ufffd')
  if (Array.isArray(value)) return value.map(whole)
  if (!value || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [whole(name), whole(inner)]))
}

test.describe('Hostile input', () => {
  test('is stored unchanged or rejected with a precise error', async () => {
    const hub = await HubProcess.start()
    try {
      let accepted = 0
      for (const { name, body, rejection } of hostileInputs) {
        const response = await fetch(hub.url + '/events', { method: 'POST', headers: json, body })
        const result = (await response.json()) as Record<string, unknown>
        if (rejection) {
          expect(response.status, name).toBe(400)
          expect(result.code, name).toBe(rejection.code)
          expect(result.field, name).toBe(rejection.field)
          expect(result.detail, name).toMatch(rejection.message)
          continue
        }
        accepted++
        expect(response.status, `${name}: ${JSON.stringify(result)}`).toBe(200)
        expect(result.id, name).toBe(accepted)
        const sent = whole(JSON.parse(String(body))) as Record<string, unknown>
        const kept = await (await fetch(`${hub.url}/events/${accepted}`)).json()
        expect(kept.payload, name).toEqual(sent.payload)
        if (sent.humanInTheLoop) expect(kept.humanInTheLoopStatus.status, name).toBe('pending')
      }
      const recent = await fetch(hub.url + '/events/recent?limit=1000')
      expect(((await recent.json()) as unknown[]).length).toBeGreaterThan(20)
    } finally {
      await hub.remove()
    }
  })
})
