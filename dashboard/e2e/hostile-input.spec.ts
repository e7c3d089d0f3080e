import { expect, test } from '@playwright/test'
import { hostileInputs } from '../src/testing/hostileInputs.ts'
import { HubProcess } from './hub.ts'

const json = { 'Content-Type': 'application/json' }

test.describe('Hostile input', () => {
  test('is stored unchanged or rejected with a precise error', async () => {
    const hub = await HubProcess.start()
    try {
      let taken = 0
      for (const { name, body, rejection: refused } of hostileInputs) {
        const answer = await fetch(hub.url + '/events', { method: 'POST', headers: json, body })
        const said = (await answer.json()) as Record<string, unknown>
        if (refused) {
          expect(answer.status, name).toBe(400)
          expect(said.code, name).toBe(refused.code)
          expect(said.field, name).toBe(refused.field)
          expect(said.detail, name).toMatch(refused.message)
          continue
        }
        taken++
        expect(answer.status, `${name}: ${JSON.stringify(said)}`).toBe(200)
        expect(said.id, name).toBe(taken)
        const sent = JSON.parse(String(body)) as Record<string, unknown>
        const kept = await (await fetch(`${hub.url}/events/${taken}`)).json()
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
