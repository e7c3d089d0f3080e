import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, describe, expect, it } from 'vitest'
import { toRequest, type Request } from '../../lib/stream/requests'
import { aRequest } from '../../testing/factories'
import ApproveAll from './ApproveAll.svelte'

describe('ApproveAll', () => {
  afterEach(cleanup)

  it('shows the whole commit of each request', () => {
    const commit = '8f14e45fceea167a5a36dedd4bea2543c1d2e3f4'
    const request = toRequest(aRequest(7, { context: { commit } })) as Request
    render(ApproveAll, { requests: [request], close: () => {} })
    expect(screen.getByTestId('commit').textContent).toBe(`commit ${commit}`)
  })
})
