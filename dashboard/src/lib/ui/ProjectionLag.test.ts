import { cleanup, render, screen } from '@testing-library/svelte'
import { afterEach, describe, expect, it } from 'vitest'
import ProjectionLag from './ProjectionLag.svelte'

afterEach(cleanup)

describe('ProjectionLag', () => {
  it.each([
    [4400, 'Statistics are 4 seconds behind'],
    [1000, 'Statistics are 1 second behind'],
  ])('says that statistics are %d ms old', (lagMs, text) => {
    render(ProjectionLag, { lagMs })
    expect(screen.getByRole('status').textContent).toContain(text)
  })

  it.each([undefined, 0, 999])('says nothing about %s ms', (lagMs) => {
    render(ProjectionLag, { lagMs })
    expect(screen.queryByRole('status')).toBeNull()
  })
})
