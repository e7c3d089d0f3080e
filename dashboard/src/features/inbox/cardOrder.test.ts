import { render, screen } from '@testing-library/svelte'
import { describe, expect, it, vi } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, anEvent, commandView } from '../../testing/factories'
import RequestDetail from './RequestDetail.svelte'
import { lazyBundle } from './lazyBundle.svelte'

describe('Card', () => {
  it('shows the call in the hub’s words, its findings, and only then the words of the agent', async () => {
    await lazyBundle.load()
    const before = [anEvent(1)]
    const context = { before, earlier: { approved: 0, denied: 0, other: 0 } }
    vi.stubGlobal('fetch', () => Promise.resolve(new Response(JSON.stringify(context))))
    const asked = aRequest(
      2,
      {
        question: 'May I tidy up?\nNothing of value goes.',
        risk: 'high',
        toolCall: { name: 'Bash', arguments: { command: 'rm -rf build' } },
        context: { lastMessage: 'I tidy up now.', userPrompt: 'Tidy up', links: ['https://example.com'] },
      },
      { intent: { verb: 'Run', object: 'rm -rf build' }, view: commandView },
    )
    const answer = () => Promise.resolve(true)
    const { container } = render(RequestDetail, {
      request: toRequest(asked) as Request,
      focus: false,
      answer,
    })
    await screen.findByTestId('recent-activity')
    expect(screen.getByRole('heading', { level: 1 }).textContent.trim()).toBe('Run rm -rf build')
    const order = [
      'h1',
      '.call-preview',
      '.risk',
      '.facts',
      '[data-testid=your-prompt]',
      '[data-testid=agent-says]',
      '.links',
      '[data-testid=recent-activity]',
      'footer',
    ]
    const parts = [...container.querySelectorAll(order.join())]
    expect(parts.map((part) => order.findIndex((selector) => part.matches(selector)))).toEqual([
      ...order.keys(),
    ])
    const says = screen.getByTestId('agent-says').textContent
    for (const words of ['May I tidy up?', 'Nothing of value goes.', 'I tidy up now.'])
      expect(says).toContain(words)
  })
})
