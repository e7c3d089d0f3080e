import { describe, expect, it } from 'vitest'
import type { Request } from '../../lib/stream/requests'
import { ownersText } from './owners'

const asked = (state: string, owners: object, escalatedAt = 0) =>
  ({ question: { context: { owners } }, status: { owners: { state }, escalatedAt } }) as unknown as Request
const files = [{ paths: ['a.go', 'b.go', 'c.go', 'd.go'], owners: ['@ada'] }]

describe('ownersText', () => {
  it('names the files and their source', () =>
    expect(ownersText(asked('matched', { files, from: 'CODEOWNERS of main' }))).toMatch(
      /a\.go.*CODEOWNERS of main/,
    ))
  it('says when everyone else may answer', () => {
    const request = asked('matched', { files })
    request.status.owners = { state: 'matched', fallbackAt: 1 }
    expect(ownersText(request)).toContain('They have quiet hours: everyone else may answer from')
    expect(ownersText(asked('matched', { files }, 1))).toContain('did not answer in time')
  })
  it('says why everyone is asked', () => {
    expect(ownersText(asked('unknown', { files }))).toMatch(/^No owner of a\.go.*\(@ada\) is a member/)
    expect(ownersText(asked('too_few', { files }))).toContain('everyone is asked')
    expect(ownersText(asked('unstated', { problem: 'it is too large' }))).toContain('it is too large')
  })
})
