import { describe, expect, it } from 'vitest'
import init from '../../../../agentclient/internal/cli/policycmd/policystarter.json'
import type { ReportedPolicy } from '../../lib/api/schema'
import { parseFileRule } from '../../lib/rules/fileRule'
import { fileOf } from './policyFile'
import { starterFile, starters } from './starters'

describe('Starter rules', () => {
  it.each(starters)('are rules of hookback policy init: $title', ({ json }) => {
    expect(init.rules).toContainEqual(JSON.parse(json))
    expect(parseFileRule(json)).toMatchObject({ target: 'file', then: 'ask', scope: 'when' })
  })
  it('are three, and form a policy', () =>
    expect((JSON.parse(starterFile) as { rules: unknown[] }).rules).toHaveLength(3))
})

describe('File to replay', () => {
  const file = (path: string, host?: string) => ({ path, host }) as ReportedPolicy
  const files = [file('/a', 'x'), file('/a', 'y'), file('/b')]
  it.each([
    ['', 0],
    ['path=/a&host=y', 1],
    ['path=/b', 2],
    ['path=/c', 0],
  ])('%j', (query, index) => expect(fileOf(files, new URLSearchParams(query))).toBe(index))
  it('is a new one without reports', () => expect(fileOf([], new URLSearchParams())).toBe(-1))
})
