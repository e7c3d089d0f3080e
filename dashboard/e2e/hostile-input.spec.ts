import { expect, test } from '@playwright/test'
import { hostileInputs } from '../src/testing/hostileInputs.ts'
import { HubProcess } from './hub.ts'

const json = { 'Content-Type': 'application/json' }

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
        // Half a character is the one thing that the hub replaces, in names too.
        const whole = JSON.stringify(JSON.parse(String(body))).replace(/\\ud[89a-f]../g, '\\ufffd')
        const sent = JSON.parse(whole) as Record<string, unknown>
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
