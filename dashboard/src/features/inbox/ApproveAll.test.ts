import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { hub } from '../../lib/stream/liveState.svelte'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest, commandView } from '../../testing/factories'
import ApproveAll from './ApproveAll.svelte'

describe('ApproveAll', () => {
  afterEach(() => {
    cleanup()
    vi.restoreAllMocks()
  })

  it('shows the whole commit of each request', () => {
    const commit = '8f14e45fceea167a5a36dedd4bea2543c1d2e3f4'
    const request = toRequest(aRequest(7, { context: { commit } })) as Request
    render(ApproveAll, { requests: [request], close: () => {} })
    expect(screen.getByTestId('commit').textContent).toBe(`commit ${commit}`)
  })

  it('shows what each call does, also of calls that are alike', () => {
    const removing = (id: number, command: string, text: string) =>
      toRequest(
        aRequest(
          id,
          { toolCall: { name: 'Bash', arguments: { command }, consequence: { sentences: [text] } } },
          { view: commandView },
        ),
      ) as Request
    const [one, two] = ['Removes 1 file, 21 bytes.', 'Removes 214 files, 38 MB.']
    const requests = [removing(7, 'rm a/1', one), removing(8, 'rm a/2', two), removing(9, 'make', two)]
    vi.spyOn(hub, 'request').mockImplementation((id) => requests.find((r) => r.id === id))
    render(ApproveAll, { requests, close: () => {} })
    const shown = screen.getAllByTestId('consequence').map((e) => e.textContent)
    expect(shown).toEqual([one, two, two].map((text) => expect.stringContaining(text)))
    expect(screen.getByLabelText('rm a/1 (#7)').closest('label')?.textContent).toContain(one)
  })
})
