import { expect, it } from 'vitest'
import { anEvent } from '../../testing/factories'
import { agentWords } from './agentWords'

it('agentWords returns what the agent said, each text once', () => {
  const chat = [
    { type: 'user', message: { role: 'user', content: 'Go' } },
    { type: 'assistant', message: { role: 'assistant', content: 'It removes a leaked key.' } },
  ]
  const events = [
    anEvent(1, { payload: { last_assistant_message: 'I rebased.' } }),
    anEvent(2, { payload: { tool_name: 'Bash' } }),
    anEvent(3, { chat: chat as never }),
    anEvent(4, { chat: chat as never }),
  ]
  expect(agentWords(events)).toEqual(['I rebased.', 'It removes a leaked key.'])
})
