import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sessionPath } from '../../lib/page/router.svelte'
import { toRequest, type Request } from '../../lib/stream/requests'
import type { QuestionContext } from '../../lib/api/types'
import { aRequest, anEvent } from '../../testing/factories'
import RecentActivity from './RecentActivity.svelte'

let led: QuestionContext
vi.stubGlobal('fetch', () => Promise.resolve(new globalThis.Response(JSON.stringify(led))))

const show = () => render(RecentActivity, { request: toRequest(aRequest(950, {})) as Request })

afterEach(cleanup)

describe('Recent activity', () => {
  it('shows earlier outcomes of the same call and the session’s last events', async () => {
    const last = aRequest(
      900,
      {},
      {
        status: 'responded',
        outcome: 'deny',
        respondedAt: Date.now() - 180_000,
        response: { respondedAt: 1, reason: 'use the copy' },
      },
    )
    led = {
      before: [anEvent(901, { tool_name: 'Bash', payload: { tool_input: { command: 'go test ./...' } } })],
      earlier: { approved: 0, denied: 2, other: 0, last },
    }
    show()
    const section = await screen.findByTestId('recent-activity')
    expect(section.textContent).toContain('denied twice (3 min ago): use the copy')
    expect(section.textContent).toContain('go test ./...')
    expect(section.querySelector('a[href="/inbox/900"]')).not.toBeNull()
  })

  it('names another agent that changed the same file', async () => {
    const collision = {
      source_app: 'web',
      session_id: 's/2',
      eventId: 7,
      path: '/srv/a.go',
      at: Date.now() - 180_000,
    }
    led = { before: [], earlier: { approved: 0, denied: 0, other: 0 }, collisions: [collision] }
    show()
    const line = await screen.findByTestId('collision')
    expect(line.textContent.replace(/\s+/g, ' ').trim()).toBe('web also changed /srv/a.go 3 min ago')
    expect(line.querySelector('a')?.getAttribute('href')).toBe(sessionPath('web', 's/2'))
  })

  it('is collapsed', async () => {
    led = { before: [anEvent(902)], earlier: { approved: 0, denied: 0, other: 0 } }
    show()
    const section = await screen.findByTestId('recent-activity')
    expect(section.querySelector('details')?.open).toBe(false)
    expect(section.querySelector('summary')?.textContent).toContain('(1)')
  })
})
