import { expect, test } from 'vitest'
import { anEvent } from '../../testing/factories'
import { AgentRegistry, TEST_APP } from './agents'

test('AgentRegistry lists no test requests', () => {
  const agents = new AgentRegistry()
  agents.observe({ ...anEvent(1), source_app: 'api' })
  agents.observe({ ...anEvent(2), source_app: TEST_APP })
  expect(agents.all().map((a) => a.name)).toEqual(['api'])
})
