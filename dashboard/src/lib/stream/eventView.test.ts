import { describe, expect, it, vi } from 'vitest'
import { summaryWithoutTool, shortSession } from './eventView'
import { anEvent } from '../../testing/factories'

describe('summaryLine', () => {
  it('omits the tool name if it is shown next to the line', () => {
    const line = (summary: string, tool_name = 'Bash') =>
      summaryWithoutTool(anEvent(1, { summary, tool_name }))
    expect(line('Bash: npm test')).toBe('npm test')
    expect(line('Bashful: npm test')).toBe('Bashful: npm test')
    expect(line(': no tool', '')).toBe(': no tool')
  })
})

it.each([
  ['8fd0dce8-ed8a-4997-a974-f358922c1879', '8fd0dce8'],
  ['session-CB1ojphi', 'CB1ojphi'],
  ['session-', 'session-'],
  ['s1', 's1'],
  ['shop-api-5f2a91', 'shop-api-5f2a91'],
  ['a-very-long-name-of-a-session', 'a-very-long-name-of…'],
])('shortSession(%s) is %s', (id, name) => expect(shortSession(id)).toBe(name))

it('gives twelve agents different hues, and keeps them', async () => {
  vi.resetModules() // other tests have used hues
  const { agentHue } = await import('./eventView')
  const names = Array.from({ length: 12 }, (_, i) => `agent-${i}`)
  const hues = names.map(agentHue)
  expect(new Set(hues).size).toBe(12)
  agentHue('a thirteenth')
  expect(names.map(agentHue)).toEqual(hues)
})
